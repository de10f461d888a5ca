//! Through real sockets, with an engine that needs no model.

mod access;
mod checks;
mod client;
mod events;
mod grpc;
mod lifecycle;
mod limits;
mod rewards;
mod stream;

use super::*;
use client::{Answer, Client};
use groundline::Config;
use groundline_testkit::{ToyEngine, ToyHooks};
use serde_json::{Value, json};
use std::sync::Arc;

const SOURCE: &str = "Marie Curie was born in Warsaw. She won a prize in 1903.";
const GOOD: &str = "Marie Curie was born in Warsaw.";
const BAD: &str = "Marie Curie was not born in Warsaw.";

/// A gateway over a toy engine, on ports of its own.
struct Site {
    gateway: Gateway,
    client: Client,
}

/// Ports of the system's choice.
fn config() -> Config {
    let mut config = Config::default();
    config.gateway.listen = "127.0.0.1:0".to_owned();
    config.gateway.admin_listen = "127.0.0.1:0".to_owned();
    config
}

impl Site {
    async fn start(config: Config) -> Self {
        Self::with_hooks(config, ToyHooks::default()).await
    }

    async fn with_hooks(config: Config, hooks: ToyHooks) -> Self {
        let gateway = config.gateway.clone();
        let checker = Checker::with_engine(Arc::new(ToyEngine::new(hooks)), config).unwrap();
        checker.start().await.unwrap();
        let parts = GatewayParts { checker, async_checks: None, metrics: None };
        let gateway = Gateway::start(parts, gateway).await.unwrap();
        let client = Client::new(gateway.addresses());
        Self { gateway, client }
    }

    async fn get(&self, path: &str) -> Answer {
        self.client.get(path).await
    }

    async fn post(&self, path: &str, body: Value) -> Answer {
        self.client.post(path, body).await
    }
}

fn request(response: &str) -> Value {
    json!({ "response": response, "source": SOURCE })
}
