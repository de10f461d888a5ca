//! The inventory of options: the one place that says what each is, in which unit, and why its default is what it is.

use super::Config;

/// One option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionInfo {
    /// Its key: section and name, such as `engine.threads`.
    pub key: &'static str,
    /// What it is, and why its default is what it is.
    pub summary: &'static str,
    /// Unit or set of values.
    pub unit: &'static str,
    /// A short environment variable that also sets it.
    pub shortcut: Option<&'static str>,
}

impl OptionInfo {
    /// The environment variable that sets it, such as `GROUNDLINE_ENGINE_THREADS`.
    pub fn variable(&self) -> String {
        format!("GROUNDLINE_{}", self.key.replace('.', "_").to_uppercase())
    }
}

/// Sections in the order of printing, each with what it is about.
pub const SECTIONS: &[(&str, &str)] = &[
    ("model", "Which model answers."),
    (
        "engine",
        "How the model computes. Results do not depend on it beyond 1e-4; on a GPU, beyond 0.02 in a logit.",
    ),
    ("limits", "What is refused as too large, with GL1005. Nothing is cut in silence."),
    ("detectors", "How methods work."),
    ("verdict", "How scores become verdicts."),
    ("ensemble", "How methods' numbers become one calibrated probability, `scores.ensemble`."),
    ("reward", "How results become rewards for training."),
    (
        "judge",
        "A language model that methods may ask, behind any OpenAI-compatible endpoint. Off without an address.",
    ),
    ("cache", "Scores of pairs that were asked before."),
    ("coordinator", "The part that takes a response from text to verdict."),
    ("worker", "The part that forms batches for the engine."),
    ("nats", "The broker of a cluster; `groundline check` and `groundline serve` need none."),
    (
        "telemetry",
        "What the roles of a cluster tell of themselves; never text of users. docs/telemetry.md has every name.",
    ),
    ("gateway", "HTTP and gRPC in front of a checker."),
    ("output", "How the command shows results."),
];

macro_rules! options {
    ($($key:literal $(($shortcut:literal))? : $unit:literal, $summary:literal;)*) => {
        /// Every option, by section.
        pub const OPTIONS: &[OptionInfo] = &[$(OptionInfo {
            key: $key,
            summary: $summary,
            unit: $unit,
            shortcut: options!(@shortcut $($shortcut)?),
        }),*];
    };
    (@shortcut) => { None };
    (@shortcut $shortcut:literal) => { Some($shortcut) };
}

options! {
    "model.name" ("GROUNDLINE_MODEL"): "name or folder", "the model: a name looked up in the model folders, or a folder. The default is small and ships with Groundline, so that it works at once";
    "model.dirs": "list of folders", "model folders to look in before the standard ones";
    "model.labels": "list of names", "label names in logit order, such as [\"entailment\", \"neutral\", \"contradiction\"]. Empty: the checkpoint's own names, which are nearly always right";
    "model.window_tokens": "tokens, 0 = what the model folder says, else 350", "tokens of a source that are read at once. What the model was trained on: it was measured there";
    "engine.threads" ("GROUNDLINE_THREADS"): "threads, at most 1024, 0 = one for each core", "threads that compute. All cores, because someone usually waits";
    "engine.isa" ("GROUNDLINE_ISA"): "auto, avx512-bf16, avx512, avx2, neon-bf16, neon or portable", "highest instruction set to use. `auto` takes the best that the processor has; the others are for comparing";
    "engine.device" ("GROUNDLINE_DEVICE"): "cpu, auto, or cuda:0 and further numbers", "what computes. `cuda:0` is the first GPU, or an error without it; `auto` takes it where it can be used, and says aloud that it did not. A GPU computes in half precision, which moves logits by up to 0.02: nobody gets that unasked";
    "engine.precision" ("GROUNDLINE_PRECISION"): "f32, auto, bf16 or int8", "how exactly the processor computes. `f32` gives the same numbers on every machine; `auto` takes the fastest that the processor has instructions for and that was measured to be exact enough for this model (`groundline models precision`): about twice as fast with the shipped model, and probabilities move by less than 0.005 on average";
    "limits.response_bytes": "bytes of UTF-8", "largest response. 1 MiB is about 300 pages; a longer one is most likely a mistake";
    "limits.source_bytes": "bytes of UTF-8", "largest sum of all sources of a request. 8 MiB is about 20 long books";
    "limits.sources": "sources", "most sources of a request";
    "limits.sample_bytes": "bytes of UTF-8", "largest sum of all samples of a request, which are other answers to the same prompt. 4 MiB are 128 answers of 10 pages";
    "limits.samples": "samples", "most samples of a request. Each sentence meets each sample, and published figures use 20";
    "limits.line_bytes": "bytes", "longest line of a JSONL file and largest JSON document. The response, the sources and the samples at their limits, together";
    "detectors.pairs_per_round": "pairs and texts, at least 2", "work that a method asks for at once. Bounds memory, and how much is lost at a deadline";
    "detectors.contradiction_neighbours": "sentences, at least 1", "how many of the evidence sentences nearest to a claim may contradict it. Few, because small models call unrelated sentences contradictions";
    "detectors.candidate_sentences": "sentences, 0 = all, else at least contradiction_neighbours", "how many of the evidence sentences nearest to a claim entailment compares it with, and the windows that hold one of them. All, because what is left out may be what supports the claim; `groundline models candidates` measures on your requests what fewer save and change";
    "detectors.support_threshold": "probability, 0 to 1", "support from which on a sentence of evidence supports a claim. Decides the order of evidence, and verdicts too: only evidence at least as near as a supporting sentence may contradict the claim";
    "detectors.judge.passage_bytes": "bytes, at least 256", "bytes of sources that the judge is shown with one claim, about four a token; of longer sources the nearest windows";
    "detectors.judge.verdict_probability": "probability, 0.5 to 1", "how probable a judge's verdict counts as where it tells no probabilities. Not 1: judges err";
    "detectors.contradiction_threshold": "probability, 0 to 1", "contradiction from which on evidence is listed by how much it contradicts. Decides the order of evidence only";
    "detectors.summac.first_operator": "max, mean or min", "SummaC-ZS: over source sentences, for each response sentence. `max`, as published";
    "detectors.summac.second_operator": "max, mean or min", "SummaC-ZS: over response sentences. `mean`, as published";
    "detectors.summac.use_entailment": "true or false", "SummaC-ZS: whether entailment counts. True, as published";
    "detectors.summac.use_contradiction": "true or false", "SummaC-ZS: whether contradiction counts against. True, as published";
    "detectors.summac.parity": "true or false", "do as the published code does, with its cut after 100 source sentences and its dropping of short sentences. False, because a cut source gives wrong verdicts in silence";
    "detectors.selfcheck.ngram_smoothing": "count, 0 to 1000", "selfcheck_ngram: added to the count of every n-gram, so that none is impossible and no number infinite. 1; 0 is as published";
    "detectors.selfcheck.overlap_words": "words, 1 to 3", "selfcheck_overlap: length of the n-grams whose share is its number. 2: single words are shared by chance, and 3 in a row seldom even by answers that agree";
    "detectors.selfcheck.nli_premise": "sentence or sample", "selfcheck_nli: which text of a pair is the premise. `sentence`, as published; `sample` for models trained on sources and claims, such as groundline-mini";
    "verdict.support_threshold": "probability, 0 to 1", "support from which on a sentence is supported. One half: neither side is favoured before a calibration says so";
    "verdict.contradiction_threshold": "probability, 0 to 1", "contradiction from which on a sentence is contradicted, where it is also above the support";
    "verdict.alert_below": "probability, 0 to 1", "the alert is raised where the weakest sentence's support is below this. The weakest, because one false sentence makes a false answer";
    "verdict.high_stakes_weight": "factor, at least 1", "weight of a sentence with a name, number, date or quantity in `scores.weighted`; others weigh 1";
    "verdict.strong_disagreement": "difference, 0 to 1", "methods disagree strongly where their numbers for the response differ by at least this much";
    "verdict.actions.contradicted": "accept, retrieve_more, review or block", "what to do where a sentence is contradicted. Blocked, because it is known to be wrong";
    "verdict.actions.not_mentioned": "accept, retrieve_more, review or block", "what to do where a sentence is not mentioned. More evidence may decide it";
    "verdict.actions.partial": "accept, retrieve_more, review or block", "what to do where all that was scored is supported, but not all was scored. What is unchecked never passes by itself";
    "verdict.actions.disagreement": "accept, retrieve_more, review or block", "what to do where everything is supported, but methods disagree strongly";
    "verdict.actions.supported": "accept, retrieve_more, review or block", "what to do where everything was scored and is supported";
    "ensemble.profile": "auto, off or a file", "the weights. `auto` takes ensemble.json from the model's folder, where there is one; weights are refused for any other model than theirs. Off until the ensemble is shown to be no worse than the best single number";
    "reward.profile": "ternary or binary_contradiction", "the formula of a request that names none. `ternary` also tells what is supported from what nobody can verify";
    "reward.not_mentioned_reward": "reward, -1 to 0", "what a sentence counts that the sources do not mention, in `ternary`. Half as bad as a contradiction: it may be true";
    "judge.base_url": "address, empty = no judge", "where the API is, up to and without /chat/completions, such as http://127.0.0.1:8000/v1. Empty, because asking others costs money and shows them texts";
    "judge.model": "name", "the model, as its backend knows it. Best not of the family that writes the responses";
    "judge.api_key": "text, empty = none", "API key, sent as a bearer token and never shown. Better in the environment or in a file than here";
    "judge.api_key_file": "file, empty = none", "file with the API key, in place of `api_key`";
    "judge.ca_file": "file, empty = none", "PEM file of authorities that are trusted besides those of the system";
    "judge.allow_plain_http": "true or false", "whether an API key may go over plain HTTP to another machine. False: it could be read on the way";
    "judge.use_environment_proxy": "true or false", "whether HTTPS_PROXY and its kin are honoured";
    "judge.connect_timeout_ms": "milliseconds", "how long connecting may take";
    "judge.call_timeout_ms": "milliseconds", "how long one HTTP call may take, its answer included";
    "judge.deadline_ms": "milliseconds", "how long a question may take with all its retries where nobody names a deadline; a check names its own";
    "judge.max_answer_bytes": "bytes", "longest HTTP answer; a longer one is cut off and counts as unreadable";
    "judge.max_input_bytes": "bytes", "longest texts of one question together; longer ones are refused with GL5010, never cut";
    "judge.max_concurrent_calls": "calls", "HTTP calls under way at once, of all checks of this process";
    "judge.max_waiting_calls": "calls", "HTTP calls that wait for their turn; more are refused with GL5005";
    "judge.requests_per_minute": "calls a minute, 0 = any", "HTTP calls a minute, failed ones included: backends count those too";
    "judge.tokens_per_minute": "tokens a minute, 0 = any", "tokens a minute, read and written";
    "judge.retry.max_attempts": "sends", "how often one call is sent at most";
    "judge.retry.base_ms": "milliseconds", "upper end of the first pause between two sends; doubles each time";
    "judge.retry.max_ms": "milliseconds", "longest pause of our own between two sends";
    "judge.retry.max_retry_after_ms": "milliseconds", "longest Retry-After that is waited for; a longer one fails at once";
    "judge.retry.unreadable_reasks": "questions", "how often a question is asked again whose answer cannot be read";
    "judge.breaker.failures": "failures in a row, 0 = never", "failures in a row after which the backend is left alone";
    "judge.breaker.open_ms": "milliseconds", "how long it is left alone before one call tries again";
    "judge.budget.tokens": "tokens, 0 = any", "most tokens in a window, read and written. A call is sent only where its upper bound still fits";
    "judge.budget.cost": "money, 0 = any", "most money in a window, in the currency of the prices";
    "judge.budget.window_ms": "milliseconds", "length of a budget's window; the first begins with the process";
    "judge.price.input_per_million": "money for a million tokens", "price of tokens that are read, in any currency";
    "judge.price.output_per_million": "money for a million tokens", "price of tokens that are written";
    "judge.cache.max_bytes": "bytes, 0 = none", "answers that are kept, by prompt version, model, parameters and texts";
    "judge.cache.ttl_ms": "milliseconds", "how long an answer is kept";
    "judge.verdict.max_output_tokens": "tokens", "longest answer to a question for a verdict";
    "judge.verdict.use_logprobs": "true or false", "whether probabilities are read from the backend's log probabilities, where it has them";
    "judge.verdict.require_quote": "true or false", "whether a verdict counts as not mentioned where the words it quotes are not in the source. True: made-up support ends here";
    "judge.verdict.votes": "answers, odd", "answers to one question in the grey zone; 1: never votes";
    "judge.verdict.vote_temperature": "temperature, 0 to 2", "temperature of the answers after the first";
    "judge.verdict.grey_low": "probability, 0 to 1", "lower end of the grey zone in which votes are taken";
    "judge.verdict.grey_high": "probability, 0 to 1", "upper end of the grey zone in which votes are taken";
    "judge.facts.max_output_tokens": "tokens", "longest answer to a question for facts";
    "judge.facts.max_facts": "facts", "most facts of one text; more make the answer unreadable";
    "judge.selfcheck.prompt": "fenced or reference", "how SelfCheckGPT's question is put: with fences around the texts, or character for character as published";
    "judge.selfcheck.max_output_tokens": "tokens", "longest answer to SelfCheckGPT's question; as published. More for models that think";
    "judge.sampling.max_output_tokens": "tokens", "most that one sample may have; a longer answer is cut there";
    "judge.sampling.max_samples": "samples", "most samples of one question";
    "judge.sampling.samples": "samples", "samples that are drawn for a check with `draw_samples`. Published figures use 20; five tell most of it";
    "judge.sampling.temperature": "temperature, 0 to 2", "temperature that samples are drawn at, as published";
    "judge.sampling.seed": "number, 0 = none", "seed of the first sample, so that the same question has the same samples; 0 draws new ones each time";
    "cache.bytes": "bytes", "memory for scores of pairs; 0 turns the cache off. 64 MiB hold about 400,000 pairs";
    "coordinator.max_checks": "checks", "checks that run at once; more are refused with GL2004";
    "coordinator.window_jobs": "jobs", "jobs of one check under way at once. One large check leaves room for others";
    "coordinator.credit_tokens": "tokens", "estimated tokens of all jobs under way at once. Few, so that the order of work is decided where fairness is";
    "coordinator.target_queue_ms": "milliseconds", "how long a job may wait behind others that are under way, at the speed that workers say they have; never less than what they hold. Long enough that no worker runs dry, short enough that the order of work is decided where fairness is";
    "coordinator.no_worker_timeout_ms": "milliseconds", "how long jobs wait for any worker to be there before their pairs count as unchecked; 0: until their deadline. A quick honest answer instead of a wait for nobody";
    "coordinator.resend_after_ms": "milliseconds", "how long nothing at all may be answered before unanswered jobs are sent again. A slow engine that still answers is no reason";
    "coordinator.max_attempts": "attempts", "how often a job is sent over a broker with nothing answered in between before its pairs count as unchecked";
    "coordinator.stop_timeout_ms": "milliseconds", "how long shutting down waits for running checks before they answer with what they have";
    "worker.batch_tokens": "tokens, 0 = what the engine recommends", "tokens of a batch. The engine knows what keeps its threads busy within its memory";
    "worker.batch_target_ms": "milliseconds", "how long a batch should take the device, at the speed measured so far. Whoever comes next waits for what runs, and larger batches are hardly faster; a batch has at least 1,024 tokens all the same";
    "worker.held_batches": "batches, at least 1", "batches' worth of tokens that are held at a time, running ones included";
    "worker.max_wait_online_ms": "milliseconds", "how long an item waits for others to share its batch, while someone waits for the answer";
    "worker.max_wait_bulk_ms": "milliseconds", "the same for bulk work, as in `groundline check`: fuller batches matter more there";
    "worker.drain_timeout_ms": "milliseconds", "how long shutting down waits for batches that run";
    "nats.urls" ("GROUNDLINE_NATS_URL"): "list of URLs", "servers of the broker, such as `nats://127.0.0.1:4222` or `tls://…`. The client learns of further ones from the first";
    "nats.name": "text", "what the broker calls this connection in its listings, so that an operator finds it";
    "nats.credentials_file": "path", "a file with a user's JWT and seed, as `nsc` writes it; empty: none";
    "nats.nkey_seed": "seed", "seed of an nkey to log in with; empty: none. Better in the environment than in a file";
    "nats.token": "text", "a token to log in with; empty: none. Better in the environment than in a file";
    "nats.user": "text", "name of a user, together with `password`; empty: none";
    "nats.password": "text", "password of `user`; empty: none. Better in the environment than in a file";
    "nats.tls_ca_file": "path", "PEM file of the authorities that may have signed the broker's certificate; empty: the system's";
    "nats.tls_cert_file": "path", "PEM file of this client's certificate, with `tls_key_file`; empty: none";
    "nats.tls_key_file": "path", "PEM file of the key of `tls_cert_file`; empty: none";
    "nats.tls_required": "true or false", "whether to refuse a connection without TLS";
    "nats.start_patience_ms": "milliseconds", "how long to try to reach the broker at the start";
    "nats.connect_timeout_ms": "milliseconds", "how long one attempt to connect may take";
    "nats.request_timeout_ms": "milliseconds", "how long the broker may take to answer a request or to confirm that a job is stored";
    "nats.ping_interval_ms": "milliseconds", "how often the connection is tried. The client's own default of a minute hides a partition for two";
    "nats.max_reconnect_delay_ms": "milliseconds", "longest pause between two attempts to connect again; half of it is random";
    "nats.client_capacity": "messages", "most messages on their way to the socket before senders wait";
    "nats.subscription_capacity": "messages", "most messages of one subscription that wait for its reader before the client drops some: results are many at once";
    "nats.max_unconfirmed_jobs": "jobs", "most jobs that are sent and not confirmed yet; further publishers wait";
    "nats.manages_streams": "true or false", "whether this process may create and change streams. Where not, a difference is an error at the start";
    "nats.runs_janitor": "true or false", "whether this process looks after jobs that were delivered as often as is allowed. Any number may";
    "nats.storage": "file or memory", "where jobs are kept. On disk an accepted job survives a restart of the broker; in memory no text of a user touches a disk";
    "nats.replicas": "1, 3 or 5", "on how many servers of a cluster each stream is kept: 1, 3 or 5";
    "nats.ack_wait_online_ms": "milliseconds", "how long a delivery of the online lane may stay undecided before it goes to another worker. Workers extend it while they work";
    "nats.ack_wait_bulk_ms": "milliseconds", "how long a delivery of the bulk lane may stay undecided before it goes to another worker";
    "nats.ack_wait_check_ms": "milliseconds", "how long a check of the durable queue may stay undecided before it goes to another coordinator";
    "nats.max_deliver": "deliveries", "how often a job or a check is delivered before it is dead";
    "nats.max_undecided": "deliveries", "most undecided deliveries of one queue, of all its workers together";
    "nats.duplicate_window_ms": "milliseconds", "how long an attempt is remembered, so that publishing it twice stores it once";
    "nats.max_job_age_ms": "milliseconds", "how long a job may wait before the broker drops it. Longer than the longest deadline";
    "nats.max_jobs": "jobs", "most jobs of all tenants";
    "nats.max_jobs_per_tenant": "jobs", "most jobs of one tenant, lane and model";
    "nats.max_job_bytes_total": "bytes", "most bytes of all jobs";
    "nats.max_dead_age_ms": "milliseconds", "how long a dead job is kept";
    "nats.max_dead_bytes_total": "bytes", "most bytes of dead jobs; the oldest go first";
    "nats.max_check_age_ms": "milliseconds", "how long a check of the durable queue may wait";
    "nats.max_checks_per_tenant": "checks", "most checks of one tenant and lane that wait or run";
    "nats.max_check_bytes_total": "bytes", "most bytes of all checks, without the bodies that lie in the object store";
    "nats.max_body_bytes_total": "bytes", "most bytes in the object store";
    "nats.answer_ttl_ms": "milliseconds", "how long an answer to a check is kept after it was last set";
    "nats.max_answer_bytes_total": "bytes", "most bytes of all answers";
    "coordinator.queued_checks": "checks", "checks of the durable queue that one process works on at once. They wait on workers, not on this process";
    "telemetry.log_filter": "level, or directives with commas between", "what the roles of a cluster log, such as `info,groundline_worker=debug`; RUST_LOG wins. Code that is not Groundline's never logs below `info`: network libraries would print what they send";
    "telemetry.log_format": "text or json", "how log lines look on standard error. Text for people; JSON where machines collect them";
    "telemetry.otlp_endpoint": "address, empty = OTEL_EXPORTER_OTLP_ENDPOINT, else nowhere", "where traces, metrics and logs go by OTLP over gRPC, such as http://collector:4317. Nowhere, because nobody asked for it";
    "telemetry.otlp_ca_file": "path, empty = OTEL_EXPORTER_OTLP_CERTIFICATE, else the system's authorities", "PEM file of the authorities that may have signed the certificate of an endpoint at https://";
    "telemetry.service_name": "name, empty = OTEL_SERVICE_NAME, else groundline and the role", "the name that traces and metrics carry as service.name";
    "telemetry.sample_ratio": "share, 0 to 1", "share of traces that are kept where the caller has not decided. All: a check has few spans, and a collector samples better";
    "telemetry.metrics_interval_ms": "milliseconds, 0 = OTEL_METRIC_EXPORT_INTERVAL, else 60,000", "time between two exports of metrics by OTLP; `/metrics` is always as of now";
    "telemetry.tenant_labels": "tenants, at most 1000", "tenants that have a label of their own in metrics; all others share `other`. Each costs a server of metrics several time series";
    "telemetry.flush_timeout_ms": "milliseconds", "how long shutting down waits for telemetry that is not sent yet. Short, because nobody waits for it";
    "gateway.listen": "address and port", "where the service listens, for HTTP and gRPC alike. This machine alone, until someone decides who may use it";
    "gateway.admin_listen": "address and port, empty = none", "where /livez, /readyz, /startupz and /metrics are, without credentials. A port of its own, so that it can be kept from those who use the service";
    "gateway.health_on_main": "true or false", "answer /livez and /readyz on the main port too, for load balancers that know one port. False, because readiness names the parts of the system";
    "gateway.allow_anonymous": "true or false", "serve without credentials although others than this machine can connect. False: an open service on a network is most likely a mistake";
    "gateway.keys_file": "file, empty = none", "API keys as hashes, with tenant and scopes; read again when it changes";
    "gateway.reload_every_ms": "milliseconds", "how often the files of keys and certificates are looked at. A withdrawn key works at most this much longer";
    "gateway.drain_notice_ms": "milliseconds", "how long to go on serving after /readyz says no. Where load balancers need time to notice; 0 where the orchestrator waits before its signal";
    "gateway.drain_timeout_ms": "milliseconds", "how long stopping waits for requests under way. Less than the 30 seconds that Kubernetes grants by default";
    "gateway.jwt.public_key_file": "file, empty = none", "PEM file with the public key that tokens are signed with: RSA (RS256), EC P-256 (ES256) or Ed25519 (EdDSA)";
    "gateway.jwt.jwks_file": "file, empty = none", "JWKS file with the public keys, picked by a token's `kid`; read again when it changes";
    "gateway.jwt.issuer": "text", "what a token's `iss` must be";
    "gateway.jwt.audience": "text", "what a token's `aud` must hold";
    "gateway.jwt.tenant_claim": "name of a claim", "which claim of a token names the tenant. Scopes are in `scope`, with spaces between";
    "gateway.tls.cert_file": "file, empty = none", "PEM file with the certificate of the main port and its chain; read again when it changes";
    "gateway.tls.key_file": "file, empty = none", "PEM file with the private key of the certificate";
    "gateway.http.max_connections": "connections", "connections open at once; more are closed at once. Below the usual limit of open files times ten";
    "gateway.http.body_bytes": "bytes", "largest body of a request. A response and sources at their limits fit, with room for JSON's escapes";
    "gateway.http.header_timeout_ms": "milliseconds", "how long a client may take for the head of a request, and how long a connection may stay unused";
    "gateway.http.body_timeout_ms": "milliseconds", "how long a client may take for a body";
    "gateway.http.stream_idle_ms": "milliseconds", "how long a response that is being written may pause. Models think and call tools, but not for ever";
    "gateway.http.max_items": "requests", "most requests in one call";
    "gateway.http.items_at_once": "requests", "how many items of one call are checked at once, so that one call does not take every place";
    "gateway.http.max_deadline_ms": "milliseconds", "longest `deadline_ms` that a request may ask for";
    "gateway.admission.in_flight_tokens": "tokens of 4 bytes", "size of all requests under way together; more are refused with 503. Bounds memory: 64 MB of bodies";
    "gateway.admission.tenant_in_flight_tokens": "tokens of 4 bytes", "size of one tenant's requests under way; more are refused with 429. A quarter of all, so that one tenant leaves room for others";
    "gateway.admission.tenant_tokens_per_second": "tokens of 4 bytes a second, 0 = any", "how much a tenant may send a second on average";
    "gateway.admission.tenant_burst_tokens": "tokens of 4 bytes, 0 = ten seconds' worth", "how much a tenant may send at once after a pause";
    "gateway.reward.concurrency": "calls", "reward calls that are worked on at once; the others wait, because trainers treat a refusal as a lost sample";
    "gateway.reward.max_waiting_tokens": "tokens of 4 bytes", "size of all reward calls that wait; more are refused with 503. Thousands of samples";
    "gateway.reward.deadline_ms": "milliseconds", "when a reward call is answered with what there is. Below the 180 seconds after which OpenRLHF gives up and asks again";
    "gateway.reward.fallback": "reward, -1 to 1", "reward of a sample that could not be scored, where the trainer needs a number; it is flagged. In the middle: neither punished nor praised";
    "gateway.reward.profile": "ternary or binary_contradiction", "formula of the reward where a caller names none. `ternary` tells false, unsupported and supported apart";
    "gateway.reward.not_mentioned_reward": "reward, -1 to 0", "what a sentence counts in `ternary` that the sources do not mention. Half as bad as a false one, and never a gain";
    "output.color": "auto, always or never", "when to colour. `auto`: on a terminal, unless NO_COLOR is set";
    "output.offsets": "bytes, chars or utf16", "unit of offsets. Bytes of UTF-8 are exact in every language; `chars` suits Python, `utf16` JavaScript and Java";
    "output.width_columns": "columns, 0 = the terminal's, at most 120", "width of the text output. Longer lines are hard to read";
    "output.evidence": "pieces, 0 to 3", "evidence shown under each sentence. The best one nearly always says enough; JSON has all three";
}

/// The options of every section `[policies.NAME]`; there are as many of them as the user writes, and none by default.
pub const POLICY_OPTIONS: &[OptionInfo] = &[
    policy("policies.NAME.always", "list of methods", "methods that every check runs"),
    policy(
        "policies.NAME.grey_zone.methods",
        "list of methods",
        "methods to run where a sentence's support probability leaves it open",
    ),
    policy(
        "policies.NAME.grey_zone.support_from",
        "probability, 0 to 1",
        "where the grey zone begins, 0.3 where absent",
    ),
    policy(
        "policies.NAME.grey_zone.support_to",
        "probability, 0 to 1",
        "where the grey zone ends, 0.7 where absent",
    ),
    policy(
        "policies.NAME.audit.methods",
        "list of methods",
        "methods to run for a sample of checks; they decide nothing",
    ),
    policy("policies.NAME.audit.rate", "share, 0 to 1", "share of checks in the sample, drawn by their id"),
];

/// Options without a default: absent until they are set. A key that ends with `.*` stands for any name.
pub const UNSET_OPTIONS: &[OptionInfo] = &[
    policy(
        "judge.price.cached_input_per_million",
        "money for a million tokens",
        "price of tokens that the backend had in its own prompt cache; absent: as input_per_million",
    ),
    policy(
        "judge.extra_body.*",
        "any",
        "fields added to every request to the judge, such as extra_body = { chat_template_kwargs = { enable_thinking = false } }",
    ),
    policy(
        "judge.capabilities.*",
        "see docs/judge.md",
        "what the judge's backend can do; absent: it is probed before the first question",
    ),
];

/// Whether a key is one of [`UNSET_OPTIONS`].
pub(super) fn is_unset_option(key: &str) -> bool {
    UNSET_OPTIONS.iter().any(|info| match info.key.strip_suffix('*') {
        Some(prefix) => key.starts_with(prefix),
        None => info.key == key,
    })
}

const fn policy(key: &'static str, unit: &'static str, summary: &'static str) -> OptionInfo {
    OptionInfo { key, summary, unit, shortcut: None }
}

/// The options of every section `[models.NAME]`; there is none by default.
pub const MODEL_OPTIONS: &[OptionInfo] = &[
    policy(
        "models.NAME.preset",
        "factcc, minicheck-roberta, minicheck-deberta, minicheck-flan-t5, alignscore, true or hhem",
        "which learned detector it is: its input format, its windows, and which output means support",
    ),
    policy(
        "models.NAME.path",
        "name or folder",
        "the model: a name looked up in the model folders, or a folder",
    ),
];

/// The key of an option of a section that users name, with that name left open, such as `policies.NAME.always`, and the name.
pub(super) fn policy_key(key: &str) -> Option<(String, &str)> {
    let (section, rest) =
        key.split_once('.').filter(|(section, _)| ["policies", "models"].contains(section))?;
    let (name, setting) = rest.split_once('.')?;
    Some((format!("{section}.NAME.{setting}"), name))
}

/// The option with a key.
pub(super) fn option(key: &str) -> Option<&'static OptionInfo> {
    OPTIONS.iter().find(|info| info.key == key)
}

/// The default of an option.
pub(super) fn default_of(key: &str) -> Option<toml::Value> {
    defaults().into_iter().find(|(known, _)| known == key).map(|(_, value)| value)
}

/// Every key with its default, from the structs themselves, so that they cannot differ.
pub(super) fn defaults() -> Vec<(String, toml::Value)> {
    let mut keys = Vec::new();
    if let Ok(table) = toml::Table::try_from(Config::default()) {
        flatten("", &table, &mut keys);
    }
    keys
}

/// The keys of a table and its tables, with dots between.
pub(super) fn flatten(prefix: &str, table: &toml::Table, keys: &mut Vec<(String, toml::Value)>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            toml::Value::Table(inner) => flatten(&key, inner, keys),
            other => keys.push((key, other.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_inventory_has_every_option_and_no_other() {
        let known = OPTIONS.iter().map(|info| info.key.to_owned()).collect::<BTreeSet<_>>();
        let real = defaults().into_iter().map(|(key, _)| key).collect::<BTreeSet<_>>();
        assert_eq!(known, real);
        assert_eq!(known.len(), OPTIONS.len(), "a key is in the inventory twice");
    }

    #[test]
    fn the_options_of_policies_are_those_that_a_policy_has() {
        let keys = POLICY_OPTIONS.iter().map(|info| info.key).collect::<Vec<_>>();
        let real = groundline_types::CascadePolicy::KEYS.iter().map(|key| format!("policies.NAME.{key}"));
        assert_eq!(keys, real.collect::<Vec<_>>());
        assert_eq!(
            policy_key("policies.fast.audit.rate"),
            Some(("policies.NAME.audit.rate".to_owned(), "fast"))
        );
    }

    #[test]
    fn every_option_belongs_to_a_section_and_is_explained() {
        for info in OPTIONS {
            let section = info.key.split('.').next().unwrap();
            assert!(SECTIONS.iter().any(|(name, _)| *name == section), "{}", info.key);
            assert!(info.summary.len() > 20 && !info.summary.ends_with('.'), "{}", info.key);
        }
    }
}
