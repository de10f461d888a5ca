//! HTTP and gRPC over one checker.
//!
//! [`Gateway::start`] opens two ports: the service, and one for health and metrics.
//!
//! | route | what it does |
//! |---|---|
//! | `POST /v1/check` | checks one response or many and answers when they are done; with server-sent events on the way |
//! | `POST /v1/checks`, `GET /v1/checks/{id}` | hands a check in, and fetches its result later |
//! | `POST /v1/stream` | checks a response while it is being written: lines of JSON in, server-sent events out |
//! | `POST /v1/reward` | a reward for training, with a reward for each sentence |
//! | `POST /get_reward` | the same as OpenRLHF asks for it |
//! | `GET /v1/models`, `/v1/methods`, `/openapi.json` | what there is |
//! | `groundline.v1.Groundline`, `grpc.health.v1.Health` | the same over gRPC, on the same port |
//! | admin port: `/livez`, `/readyz`, `/startupz`, `/metrics` | how the process is |
//!
//! Who calls is known from API keys and tokens ([`new_key`] makes a key), and so is the tenant. What is let in is decided by
//! tokens, the same for every shape of request. Errors are `application/problem+json` with a stable code. docs/http.md has
//! examples, docs/grpc.md the calls.
//!
//! Invariant of absence: this crate knows no NATS and forms no batches.

#![forbid(unsafe_code)]

mod admission;
mod admit;
mod app;
mod auth;
mod connections;
mod files;
mod gateway;
mod grpc;
mod intake;
mod lines;
mod observe;
mod openapi;
mod openrlhf;
mod probe;
mod problem;
mod routes;

pub use auth::{NewKey, new_key};
pub use gateway::{Admin, Gateway, GatewayAddresses, GatewayParts};
pub use probe::Probe;
