//! The commands that serve, as an operator runs them: real processes, a real broker, plain HTTP.

use groundline_testkit::{NatsServer, NatsVersion};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use system_tests::{groundline, run};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);
/// What every check of these scenarios is asked.
const TEXT: &str = "Marie Curie was born in Warsaw.";

/// A role as a process. Dropping it kills it.
struct Role {
    child: Child,
    /// Where its service listens; for roles without one, its health.
    address: String,
}

impl Role {
    /// Starts one and waits until it says where it listens.
    fn start(arguments: &[&str]) -> Self {
        let mut child = groundline(arguments).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut seen = Vec::new();
        let address = loop {
            let line = lines.next().unwrap_or_else(|| panic!("{arguments:?} ended: {seen:?}")).unwrap();
            if let Some((_, address)) = line.split_once(" at http://") {
                break address.trim().to_owned();
            }
            seen.push(line);
        };
        // A pipe that nobody reads fills up.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(status.unwrap().success());
    }

    /// Its exit status.
    fn ended(&mut self) -> Option<i32> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(Instant::now() < give_up, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: {}",
            body.len()
        );
        self.ask(&format!("{head}\r\nhost: x\r\nconnection: close\r\n\r\n{body}"))
    }

    fn get(&self, path: &str) -> (u16, Value) {
        self.ask(&format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"))
    }

    /// Waits until it says that it is ready: a coordinator is once it has heard from a worker.
    fn expect_ready(&self) {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let (status, body) = self.get("/readyz");
            if status == 200 {
                return;
            }
            assert!(Instant::now() < give_up, "{body}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// One request, one connection; answers of these routes have a length, so that the body is what follows the head.
    fn ask(&self, request: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status.unwrap_or_else(|| panic!("{answer}")), serde_json::from_str(body).unwrap_or_default())
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        // One that has ended already cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn serve_answers_from_one_process_and_ends_well_when_told() {
    let mut serve = Role::start(&["serve", "--listen", "127.0.0.1:0", "--admin-listen", ""]);
    let (status, result) = serve.post("/v1/check", &json!({"source": TEXT, "response": TEXT}));
    assert_eq!((status, &result["verdict"]), (200, &json!("supported")), "{result}");
    let (status, problem) = serve.post("/v1/check", &json!({"source": TEXT, "response": " "}));
    assert_eq!((status, &problem["code"]), (422, &json!("GL1001")), "{problem}");
    serve.signal("TERM");
    assert_eq!(serve.ended(), Some(0));
}

#[test]
fn the_roles_of_a_cluster_answer_together_and_each_ends_well_when_told() {
    let server = NatsServer::start();
    let nats = server.url();
    let mut gateway =
        Role::start(&["gateway", "--nats", &nats, "--listen", "127.0.0.1:0", "--admin-listen", ""]);
    let role = |name| Role::start(&[name, "--nats", &nats, "--admin-listen", "127.0.0.1:0"]);
    let (mut worker, mut coordinator) = (role("worker"), role("coordinator"));

    let (status, result) = gateway.post("/v1/check", &json!({"source": TEXT, "response": TEXT}));
    assert_eq!((status, &result["verdict"]), (200, &json!("supported")), "{result}");

    let (status, ticket) = gateway.post("/v1/checks", &json!({"source": TEXT, "response": TEXT}));
    assert_eq!(status, 202, "{ticket}");
    let path = format!("/v1/checks/{}", ticket["id"].as_str().unwrap());
    let give_up = Instant::now() + PATIENCE;
    let answer = loop {
        let (status, answer) = gateway.get(&path);
        if status != 202 {
            break answer;
        }
        assert!(Instant::now() < give_up, "{answer}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(answer["result"]["verdict"], json!("supported"), "{answer}");

    for role in [&worker, &coordinator] {
        assert_eq!(role.get("/livez").0, 200);
        role.expect_ready();
    }
    let doctor = run(&["doctor", "--nats", &nats, "--json"]);
    assert_eq!(doctor.status, 0, "{doctor:?}");
    assert!(doctor.json_lines().iter().all(|finding| finding["health"] == "well"), "{doctor:?}");

    for role in [&mut worker, &mut coordinator, &mut gateway] {
        role.signal("TERM");
        assert_eq!(role.ended(), Some(0));
    }
    let doctor = run(&["doctor", "--nats", &nats, "--json"]);
    assert_eq!(doctor.status, 1, "{doctor:?}");
    let workers = doctor.json_lines().into_iter().find(|finding| finding["what"] == "workers").unwrap();
    assert_eq!(workers["health"], "ill", "{workers}");
}

/// Users as `deploy/nats.conf` has them: a worker may make no stream.
const USERS: &str = r#"authorization { users: [
    { user: gateway, password: secret },
    { user: worker, password: secret, permissions: { publish: { deny: [
        "$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.UPDATE.>", "gl.v1.jobs.>"
    ] } } }
] }"#;

#[test]
fn a_worker_that_meets_a_fresh_broker_first_waits_for_the_gateway_that_prepares_it() {
    let server = NatsServer::start_with(NatsVersion::of_tests(), USERS);
    let (nats, folder) = (server.url(), tempfile::tempdir().unwrap());
    let as_user = |user: &str| {
        let file = folder.path().join(format!("{user}.toml"));
        std::fs::write(&file, format!("[nats]\nuser = {user:?}\npassword = \"secret\"\n")).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let config = as_user("worker");
    let worker =
        Role::start(&["worker", "--config", &config, "--nats", &nats, "--admin-listen", "127.0.0.1:0"]);
    let (status, problem) = worker.get("/readyz");
    assert_eq!(status, 503, "{problem}");
    assert!(problem.to_string().contains("it lacks the streams"), "{problem}");
    assert_eq!(worker.get("/livez").0, 200);
    let config = as_user("gateway");
    let listen = ["--listen", "127.0.0.1:0", "--admin-listen", ""];
    let gateway = Role::start(&[&["gateway", "--config", &config, "--nats", &nats], &listen[..]].concat());
    let give_up = Instant::now() + PATIENCE;
    while worker.get("/readyz").0 != 200 {
        assert!(Instant::now() < give_up, "{:?}", worker.get("/readyz"));
        std::thread::sleep(Duration::from_millis(50));
    }
    let (status, result) = gateway.post("/v1/check", &json!({"source": TEXT, "response": TEXT}));
    assert_eq!((status, &result["verdict"]), (200, &json!("supported")), "{result}");
}

#[test]
fn a_role_that_waits_for_its_broker_ends_at_once_when_told() {
    let mut child =
        groundline(&["worker", "--nats", "nats://127.0.0.1:1"]).stdin(Stdio::null()).spawn().unwrap();
    // Long enough to be up and waiting, on a busy machine too; far below its patience of half a minute.
    std::thread::sleep(Duration::from_secs(4));
    assert!(child.try_wait().unwrap().is_none(), "it does not wait for its broker");
    let told = Instant::now();
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(told.elapsed() < Duration::from_secs(10), "{:?}", told.elapsed());
}
