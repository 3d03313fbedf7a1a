//! What a replay found, with names: the same for the table, JSON and HTML.

use rate_limit::core::identity::Salt;
use rate_limit::core::limit::Limit;
use rate_limit::core::time::{Micros, SECOND, utc_date};
use serde_json::{Value, json};

use crate::args::ReplayArgs;
use crate::demand::{MAX_LIMIT, Needs, Share};
use crate::escape::printable;
use crate::replay::{By, Replay};
use crate::sources::{Reader, Unread};
use crate::state::{Algorithm, Each};
use crate::tally::{Difference, Tally, Timeline, Worst};

/// Hex digits of a pseudonym: enough to tell a million clients apart.
const PSEUDONYM: usize = 12;

/// All that is told.
pub struct Report {
    /// By which algorithm the rows are ranked.
    pub algorithm: Algorithm,
    /// Whose the budgets are.
    pub by: By,
    /// Each policy.
    pub policies: Vec<Policy>,
    /// All requests.
    pub total: Tally,
    /// Different clients.
    pub clients: usize,
    /// Those denied at least once.
    pub denied_clients: Each<usize>,
    /// How the algorithms differ.
    pub difference: Difference,
    worst: [Vec<Row>; 3],
    /// The course of time.
    pub timeline: Timeline,
    /// The first and the last time.
    pub span: Option<(Micros, Micros)>,
    /// Lines that could not be read, and the first few of them.
    pub unparsed: u64,
    /// See `unparsed`.
    pub shown: Vec<Unread>,
    /// Requests that stood too far behind younger ones.
    pub late: u64,
    /// Other things to know.
    pub warnings: Vec<String>,
}

/// A policy, and what was suggested for it.
pub struct Policy {
    /// What it covers.
    pub name: String,
    /// What held.
    pub limit: Limit,
    /// Where a suggestion was asked for.
    pub suggestion: Option<Suggestion>,
}

/// The smallest limit that touches few enough clients.
pub struct Suggestion {
    /// The share of clients that may be touched.
    pub share: Share,
    /// The clients under this policy.
    pub clients: usize,
    /// The limit for each algorithm; `None` where it is above what is tried.
    pub limit: Each<Option<u32>>,
    /// Limits, and how many clients each touches.
    pub sweep: Vec<(u32, Each<usize>)>,
}

/// One client, route or minute.
pub struct Row {
    /// Printable.
    pub name: String,
    /// Its requests.
    pub tally: Tally,
}

impl Report {
    /// Takes what was counted and gives it names.
    pub fn new(args: &ReplayArgs, mut replay: Replay, reader: Reader, late: u64) -> Self {
        replay.timeline.end_minute();
        let worst = |tallies: &[Tally]| {
            let mut worst = Worst::new(args.algorithm, args.top.into());
            tallies.iter().zip(0_u32..).for_each(|(&tally, id)| worst.offer(id, tally));
            worst.rows
        };
        let salt = Salt::new(&rand::random::<[u8; 32]>());
        let client = |id| {
            let name = reader.clients.name(id);
            if args.show_addresses {
                return printable(&name);
            }
            let hash = salt.hash(&name, 0);
            printable(&hash[..PSEUDONYM])
        };
        let policies = (0..reader.routes.policies().len()).map(|policy| Policy {
            name: reader.routes.policies().name(policy).to_owned(),
            limit: reader.routes.policies().limit(policy),
            suggestion: args
                .suggest
                .map(|share| Suggestion::new(share, &replay.needs(policy, &reader.routes))),
        });
        Self {
            algorithm: args.algorithm,
            by: args.by,
            policies: policies.collect(),
            total: replay.total,
            clients: replay.clients.len(),
            denied_clients: replay.denied_clients(),
            worst: [
                rows(worst(&replay.clients), client),
                rows(worst(&replay.routes), |id| printable(&reader.routes.name(id))),
                rows(std::mem::take(&mut replay.timeline.worst.rows), second),
            ],
            difference: replay.difference,
            timeline: replay.timeline,
            span: replay.span,
            unparsed: reader.unparsed,
            shown: reader.shown,
            late,
            warnings: reader.warnings,
        }
    }

    /// Whose one budget is.
    pub fn budget(&self) -> &'static str {
        if self.by == By::Client { "client" } else { "client and route" }
    }

    /// The worst of each kind.
    pub fn worst(&self) -> [(&'static str, &[Row]); 3] {
        let [clients, routes, minutes] = &self.worst;
        [("client", clients), ("route", routes), ("minute", minutes)]
    }

    /// The report as a JSON object.
    pub fn json(&self) -> Value {
        let algorithms = each(|algorithm| {
            let i = algorithm as usize;
            json!({
                "denied": self.total.denied[i],
                "denied_clients": self.denied_clients[i],
                "over": self.difference.over[i],
                "early": self.difference.early[i],
                "peak": { "admitted": self.difference.peak[i].admitted, "limit": self.difference.peak[i].limit },
            })
        });
        json!({
            "requests": self.total.requests,
            "clients": self.clients,
            "unparsed": self.unparsed,
            "late": self.late,
            "first": self.span.map(|(first, _)| second(first)),
            "last": self.span.map(|(_, last)| second(last)),
            "algorithms": algorithms,
            "differences": self.differences(),
            "policies": self.policies.iter().map(Policy::json).collect::<Vec<_>>(),
            "worst": self.worst().into_iter().map(|(kind, rows)| {
                (format!("{kind}s"), json_rows(rows))
            }).collect::<serde_json::Map<_, _>>(),
            "unparsed_lines": self.shown.iter().map(|unread| {
                json!({ "place": unread.place, "rule": unread.rule, "text": unread.text })
            }).collect::<Vec<_>>(),
            "warnings": self.warnings,
        })
    }

    /// Requests denied by one algorithm and not by another, for each pair that has any.
    fn differences(&self) -> Vec<Value> {
        let pairs = Algorithm::ALL.into_iter().flat_map(|a| Algorithm::ALL.map(|b| (a, b)));
        pairs
            .filter(|(a, b)| a != b)
            .map(|(a, b)| {
                let requests = self.difference.only(a, b);
                json!({ "denied_by": a.name(), "allowed_by": b.name(), "requests": requests })
            })
            .collect()
    }
}

impl Policy {
    fn json(&self) -> Value {
        let suggestion = self.suggestion.as_ref().map(|suggestion| {
            json!({
                "share_percent": suggestion.share.percent(),
                "clients": suggestion.clients,
                "limit": each(|algorithm| json!(suggestion.limit[algorithm as usize])),
                "sweep": suggestion.sweep.iter().map(|(limit, touched)| {
                    json!({ "limit": limit, "clients_touched": each(|a| json!(touched[a as usize])) })
                }).collect::<Vec<_>>(),
            })
        });
        json!({
            "paths": self.name,
            "limit": self.limit.max(),
            "window_seconds": self.limit.window_seconds(),
            "suggestion": suggestion,
        })
    }
}

impl Suggestion {
    fn new(share: Share, needs: &Needs) -> Self {
        let limit = needs.smallest(share);
        let tried = (0..).flat_map(|power| [1, 2, 3, 5, 7].map(|digit| digit * 10_u32.pow(power)));
        let mut sweep: Vec<u32> = tried.take_while(|&limit| limit <= MAX_LIMIT).collect();
        sweep.extend(limit.into_iter().flatten());
        sweep.sort_unstable();
        sweep.dedup();
        let mut sweep: Vec<_> =
            sweep.into_iter().map(|limit| (limit, needs.touched(limit))).collect();
        let end = sweep
            .iter()
            .position(|(_, touched)| *touched == [0; 3])
            .map_or(sweep.len(), |at| at + 1);
        sweep.truncate(end);
        Self { share, clients: needs.clients(), limit, sweep }
    }
}

/// An object with a value for each algorithm.
fn each(value: impl Fn(Algorithm) -> Value) -> Value {
    Algorithm::ALL
        .into_iter()
        .map(|algorithm| (algorithm.name().to_owned(), value(algorithm)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn rows<K>(rows: Vec<(K, Tally)>, name: impl Fn(K) -> String) -> Vec<Row> {
    rows.into_iter().map(|(key, tally)| Row { name: name(key), tally }).collect()
}

fn json_rows(rows: &[Row]) -> Value {
    rows.iter()
        .map(|Row { name, tally }| {
            json!({ "name": name, "requests": tally.requests, "denied": each(|a| json!(tally.denied[a as usize])) })
        })
        .collect()
}

/// `1995-08-01T06:00:00Z`.
pub fn second(at: Micros) -> String {
    let date = utc_date(at);
    let of_day = at / SECOND % 86_400;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", date.escape_ascii())
}

/// `1995-08-01 06:00`, the minute in UTC.
pub fn minute(at: Micros) -> String {
    second(at)[..16].replace('T', " ")
}
