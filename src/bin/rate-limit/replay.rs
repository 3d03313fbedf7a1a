//! Replays a log: each request decided in the order of time, and counted.

use rate_limit::core::time::Micros;

use crate::args::ReplayArgs;
use crate::demand::{Demand, Needs};
use crate::names::{ClientId, Map, RouteId, Routes};
use crate::order::Request;
use crate::state::{Each, State};
use crate::tally::{Difference, Tally, Timeline, Worst};

/// Whose budget a request takes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum By {
    /// The client's; each `--route` is a budget of its own.
    #[value(name = "ip")]
    Client,
    /// The client's on this path or `--route`.
    #[value(name = "ip,route")]
    ClientAndRoute,
}

/// One budget, and what its owner would need.
struct Identity {
    state: State,
    demand: Option<Box<Demand>>,
}

/// The state of all identities, and what was counted.
pub struct Replay {
    by: By,
    suggest: bool,
    identities: Map<(ClientId, RouteId), Identity>,
    /// By client.
    pub clients: Vec<Tally>,
    /// By route.
    pub routes: Vec<Tally>,
    /// All together.
    pub total: Tally,
    /// By time.
    pub timeline: Timeline,
    /// By algorithm.
    pub difference: Difference,
    /// The times of the first and of the last request.
    pub span: Option<(Micros, Micros)>,
}

impl Replay {
    /// Nothing replayed yet.
    pub fn new(args: &ReplayArgs) -> Self {
        Self {
            by: args.by,
            suggest: args.suggest.is_some(),
            identities: Map::default(),
            clients: Vec::new(),
            routes: Vec::new(),
            total: Tally::default(),
            timeline: Timeline::new(Worst::new(args.algorithm, args.top.into())),
            difference: Difference::default(),
            span: None,
        }
    }

    /// Decides on a request, no earlier than the one before.
    pub fn decide(&mut self, request: Request, routes: &Routes) {
        let Request { time, client, route } = request;
        let policy = routes.policy(route);
        let limit = routes.policies().limit(policy);
        let budget = if self.by == By::Client { policy as RouteId } else { route };
        let identity = self.identities.entry((client, budget)).or_insert_with(|| Identity {
            state: State::default(),
            demand: self.suggest.then(Box::default),
        });
        let outcome = identity.state.attempt(limit, time);
        if let Some(demand) = &mut identity.demand {
            demand.count(limit, time);
        }
        self.difference.count(limit, &outcome);
        self.total.count(outcome.admitted);
        at(&mut self.clients, client).count(outcome.admitted);
        at(&mut self.routes, route).count(outcome.admitted);
        self.timeline.count(time, outcome.admitted);
        self.span = Some((self.span.map_or(time, |(first, _)| first), time));
    }

    /// How many clients each algorithm denied at least once.
    pub fn denied_clients(&self) -> Each<usize> {
        std::array::from_fn(|i| self.clients.iter().filter(|tally| tally.denied[i] > 0).count())
    }

    /// What the clients under `policy` need.
    pub fn needs(&self, policy: usize, routes: &Routes) -> Needs {
        let mut clients: Map<ClientId, Each<u32>> = Map::default();
        for (&(client, budget), identity) in &self.identities {
            let Some(demand) = identity.demand.as_ref().filter(|_| routes.policy(budget) == policy)
            else {
                continue;
            };
            let most = clients.entry(client).or_default();
            *most = std::array::from_fn(|i| most[i].max(demand.need[i]));
        }
        Needs::new(clients.values().copied())
    }
}

fn at(tallies: &mut Vec<Tally>, index: u32) -> &mut Tally {
    let index = index as usize;
    if index >= tallies.len() {
        tallies.resize(index + 1, Tally::default());
    }
    &mut tallies[index]
}
