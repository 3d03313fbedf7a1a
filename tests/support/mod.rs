//! What the tests share. Each test binary uses a part of it.
#![allow(dead_code)]

pub mod conformance;
pub mod corpus;
pub mod forks;
pub mod midnight;
pub mod model;
#[cfg(feature = "redis")]
pub mod network;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "redis")]
pub mod server;
#[cfg(feature = "cli")]
pub mod tool;
