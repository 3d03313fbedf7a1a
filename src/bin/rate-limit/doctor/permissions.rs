//! Whether this user may do what the extension does. Each command is tried on keys of the check's
//! own, since a script runs into a missing right only where it comes to use it.

use std::collections::BTreeSet;

use rate_limit::store::StoreError;
use rate_limit::store::redis::{
    COUNTER, COUNTER_ADD, LOG_LIST, LOG_LIST_ADD, LOG_SORTED_SET, LOG_SORTED_SET_ADD, Layout,
    Naming, SharedConnection,
};

use super::Finding;

/// A command and what follows its key. What writes stands behind what removes.
type Command = (&'static str, &'static [&'static [u8]]);
const ANY: &[Command] = &[("DEL", &[]), ("PEXPIRE", &[b"1000"]), ("PTTL", &[])];
const OF_COUNTERS: &[Command] = &[("GET", &[]), ("INCRBY", &[b"1"])];
const OF_SORTED_SETS: &[Command] = &[
    ("ZCARD", &[]),
    ("ZCOUNT", &[b"-inf", b"+inf"]),
    ("ZRANGE", &[b"0", b"0", b"WITHSCORES"]),
    ("ZREMRANGEBYSCORE", &[b"-inf", b"+inf"]),
    ("ZADD", &[b"NX", b"0", b"doctor"]),
];
const OF_LISTS: &[Command] = &[
    ("LLEN", &[]),
    ("LINDEX", &[b"0"]),
    ("LTRIM", &[b"1", b"0"]),
    ("LINSERT", &[b"BEFORE", b"0", b"0"]),
    ("RPUSH", &[b"0"]),
];

pub fn check(link: &mut SharedConnection, naming: &Naming, identity: &str) -> Finding {
    let remedy = "redis-cli ACL SETUSER name ~rl:* +evalsha +script|load +time +del +pexpire +pttl, \
                  for counters +get +incrby, for logs +zcard +zcount +zrange +zadd \
                  +zremrangebyscore (list: +llen +lindex +ltrim +linsert +rpush)";
    match refused(link, naming, identity) {
        Err(error) => Finding::fail("permissions", error.to_string(), remedy),
        Ok(refused) if refused.is_empty() => {
            Finding::ok("permissions", "every command and key of the extension is allowed")
        }
        Ok(refused) => {
            let refused = refused.into_iter().collect::<Vec<_>>().join(", ");
            Finding::fail("permissions", format!("this user may not use: {refused}"), remedy)
        }
    }
}

/// The commands that this user may not use.
fn refused(
    link: &mut SharedConnection,
    naming: &Naming,
    identity: &str,
) -> Result<BTreeSet<&'static str>, StoreError> {
    let (log, of_logs, of_layout) = match naming.layout {
        Layout::SortedSet => ("log", OF_SORTED_SETS, [&LOG_SORTED_SET, &LOG_SORTED_SET_ADD]),
        Layout::List => ("list", OF_LISTS, [&LOG_LIST, &LOG_LIST_ADD]),
    };
    for script in of_layout.into_iter().chain([&COUNTER, &COUNTER_ADD]) {
        link.command(b"", &[b"SCRIPT", b"LOAD", script.source().as_bytes()])?;
    }
    let mut refused = BTreeSet::new();
    for (kind, commands) in [("cnt", OF_COUNTERS), (log, of_logs)] {
        let key = [&naming.prefix, format!("rl:{kind}:{{{identity}}}:0").as_bytes()].concat();
        for (command, arguments) in ANY.iter().chain(commands) {
            match link.command(&key, &[&[command.as_bytes(), &key], *arguments].concat()) {
                Err(StoreError::Server { message, .. }) if message.contains("NOPERM") => {
                    refused.insert(*command);
                    if *command == "DEL" {
                        return Ok(refused); // what is written now would stay
                    }
                }
                answer => drop(answer?),
            }
        }
        link.command(&key, &[b"DEL", &key])?;
    }
    Ok(refused)
}

#[cfg(test)]
mod tests {
    use rate_limit::store::redis::Script;

    use super::*;

    /// The commands that a script calls, TIME apart, which it may be refused.
    fn called(scripts: [&Script; 2]) -> BTreeSet<String> {
        let calls = scripts.into_iter().flat_map(|script| script.source().split("call('").skip(1));
        let names = calls.map(|rest| rest.split('\'').next().unwrap().to_owned());
        names.filter(|name| name != "TIME").collect()
    }

    #[test]
    fn exactly_the_commands_of_the_scripts_are_tried() {
        for (scripts, commands) in [
            ([&COUNTER, &COUNTER_ADD], OF_COUNTERS),
            ([&LOG_SORTED_SET, &LOG_SORTED_SET_ADD], OF_SORTED_SETS),
            ([&LOG_LIST, &LOG_LIST_ADD], OF_LISTS),
        ] {
            let tried = ANY.iter().chain(commands).map(|(command, _)| (*command).to_owned());
            let tried: BTreeSet<_> = tried.filter(|command| command != "DEL").collect();
            assert_eq!(called(scripts), tried);
        }
    }
}
