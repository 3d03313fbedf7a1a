//! tests/vectors/*.json, read into core types.

use rate_limit::core::limit::{Algorithm, Cost, Limit};
use rate_limit::core::time::Micros;
use rate_limit::core::verdict::Verdict;
use serde_json::Value;

pub struct Case {
    pub why: String,
    pub algorithm: Algorithm,
    pub steps: Vec<Step>,
}

pub struct Step {
    pub at: Micros,
    pub limit: Limit,
    pub cost: Cost,
    pub ask: Ask,
}

#[derive(Debug)]
pub enum Ask {
    Attempt(Verdict),
    Peek(Verdict),
    Reset,
}

/// The cases of tests/vectors/decisions.json.
pub fn decisions() -> Vec<Case> {
    let file: Value = serde_json::from_str(include_str!("../vectors/decisions.json")).unwrap();
    let cases: Vec<Case> = file["cases"].as_array().unwrap().iter().map(case).collect();
    assert!(!cases.is_empty());
    cases
}

fn case(case: &Value) -> Case {
    let algorithm = match case["algorithm"].as_str().unwrap() {
        "log" => Algorithm::Log,
        "counter" => Algorithm::Counter,
        other => panic!("algorithm {other}"),
    };
    let window = case["window_seconds"].as_i64().unwrap();
    let steps = case["steps"].as_array().unwrap();
    Case {
        why: case["why"].as_str().unwrap().to_owned(),
        algorithm,
        steps: steps.iter().map(|step| self::step(step, algorithm, window)).collect(),
    }
}

fn step(step: &Value, algorithm: Algorithm, window: i64) -> Step {
    let limit = Limit::new(step["limit"].as_i64().unwrap(), window).unwrap();
    let verdict = || verdict(&step["expect"], limit);
    Step {
        at: step["at_us"].as_u64().unwrap(),
        limit,
        cost: Cost::new(step["cost"].as_i64().unwrap(), algorithm).unwrap(),
        ask: match step["op"].as_str().unwrap() {
            "attempt" => Ask::Attempt(verdict()),
            "peek" => Ask::Peek(verdict()),
            "reset" => Ask::Reset,
            other => panic!("op {other}"),
        },
    }
}

fn verdict(expect: &Value, limit: Limit) -> Verdict {
    let span = |name: &str| expect[name].as_u64().unwrap();
    Verdict {
        allowed: expect["allowed"].as_bool().unwrap(),
        limit: limit.max(),
        remaining: span("remaining") as u32,
        retry_after: expect["retry_after_us"].as_u64(),
        replenish_after: span("replenish_after_us"),
        reset_after: span("reset_after_us"),
    }
}
