//! `rate-limit top` and `rate-limit reset`: who is busy on this host, and freeing one of them, while
//! the workers run. Both look into the file that `rate_limit.memory_file` names.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rate_limit::core::limit::{Cost, Limit};
use rate_limit::core::time::SECOND;
use rate_limit::store::redis::{ClockMode, Dsn, Naming, Options, RedisStore, Server, connection};
use rate_limit::store::shm::{BusySeen, Region, Shm, namespace};
use rate_limit::store::{Call, Host as _, Store as _, StoreError, scope};
use rate_limit::tally::SAMPLED;

use crate::args::{ResetArgs, TopArgs};
use crate::doctor::from_input;
use crate::{Failure, print};

/// How long a store is given.
const TIMEOUT: u64 = 5 * SECOND;

fn region(path: &Path) -> Result<&'static Region, Failure> {
    let region = Region::in_file(path).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Box::leak(Box::new(region)))
}

/// Prints the busiest identities and the most denied.
pub fn top(args: &TopArgs) -> Result<(), Failure> {
    let busy = region(&args.memory_file)?.busy();
    let mut page = String::new();
    for (title, by_denials) in [("Busiest", false), ("Most denied", true)] {
        let rank = |busy: &BusySeen| if by_denials { busy.denied } else { busy.calls };
        let mut rows: Vec<_> = busy.iter().filter(|&busy| rank(busy) > 0).collect();
        rows.sort_by_key(|busy| Reverse(rank(busy)));
        rows.truncate(args.rows.into());
        // Writing to a string cannot fail.
        let _ = writeln!(page, "{title}, estimated calls of the last minute");
        let _ = writeln!(page, "{:<24} {:>14} {:>9} {:>9}  state", "", "limit", "calls", "denied");
        for busy in rows {
            let limit = format!("{} in {} s", busy.limit, busy.window);
            let (calls, denied) =
                (busy.calls * u64::from(SAMPLED), busy.denied * u64::from(SAMPLED));
            let place = if busy.remote { "store" } else { "memory" };
            let name = busy.pseudonym();
            let _ = writeln!(page, "{name:<24} {limit:>14} {calls:>9} {denied:>9}  {place}");
        }
        page.push('\n');
    }
    print(&page)
}

/// Frees the identities.
pub fn reset(args: &ResetArgs) -> Result<(), Failure> {
    let region = args.memory_file.as_deref().map(region).transpose()?;
    let failed = |error: StoreError| Failure::new(error.to_string());
    if !args.pseudonyms.is_empty() {
        let region = region.ok_or_else(|| Failure::usage("name --memory-file".to_owned()))?;
        for pseudonym in &args.pseudonyms {
            if !region.shm(0).reset_pseudonym(pseudonym).map_err(failed)? {
                let message = format!("{pseudonym:?} is no pseudonym of rate-limit top");
                return Err(Failure::usage(message));
            }
        }
        return print("freed\n");
    }
    let (Some(identity), Some(class), Some(window)) = (&args.identity, args.class, args.window)
    else {
        let message = "name pseudonyms of rate-limit top, or --identity, --class and --window";
        return Err(Failure::usage(message.to_owned()));
    };
    let limit =
        Limit::new(1, window).map_err(|error| Failure::usage(format!("--window {error}")))?;
    let identity = identity.as_bytes();
    let call = Call { algorithm: class.into(), identity, earlier: &[], limit, cost: Cost::ONE };
    let shm = region.map(|region| {
        let user = rustix::process::geteuid().as_raw();
        region.shm(namespace(args.namespace.as_bytes(), user))
    });
    match (&args.store, shm) {
        (Some(dsn), shm) => reset_store(dsn, args, &call, shm)?,
        (None, Some(mut shm)) => shm.reset(&call).map_err(failed)?,
        (None, None) => {
            return Err(Failure::usage("name --memory-file, or --store, or both".to_owned()));
        }
    }
    print("freed\n")
}

/// In the store first, so that no denial from before is remembered on this host.
fn reset_store(
    dsn: &str,
    args: &ResetArgs,
    call: &Call<'_>,
    shm: Option<Shm>,
) -> Result<(), Failure> {
    let dsn = from_input(dsn)?;
    let dsn = Dsn::parse(&dsn).map_err(|error| Failure::usage(format!("--store {error}")))?;
    let scope = scope(&(&dsn.endpoint, &dsn.prefix));
    let cluster = matches!(dsn.endpoint.server, Server::Cluster(_));
    let naming = Naming { prefix: dsn.prefix, cluster, layout: args.log_layout.into() };
    let link = connection(&dsn.endpoint, Options { timeout: TIMEOUT });
    RedisStore::new(link, naming, ClockMode::Server)
        .reset(call)
        .map_err(|error| Failure::new(error.to_string()))?;
    if let Some(shm) = shm {
        shm.forget(scope, call);
    }
    Ok(())
}
