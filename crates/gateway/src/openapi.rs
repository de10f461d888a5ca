//! The OpenAPI document, made from the types.

use crate::problem::{ItemError, ProblemBody};
use crate::routes;
use groundline_types::StopAt;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi as Document, RefOr, Schema, SecurityRequirement};
use utoipa::{Modify, OpenApi, PartialSchema, ToSchema};

/// A response to check; `CheckRequest::from_value` reads it. `null` counts as absent; a field that is not listed is refused.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CheckRequest)]
pub(crate) struct CheckRequestSchema {
    /// The text to check.
    response: String,
    /// The evidence. Give `source` or `sources`, not both.
    source: Option<SourceSchema>,
    /// Several pieces of evidence; they are kept apart and the best of all counts.
    sources: Option<Vec<SourceSchema>>,
    /// Echoed in the result; made where absent.
    id: Option<String>,
    /// What the response answers. Context, never evidence.
    question: Option<String>,
    /// Earlier turns of the conversation.
    history: Option<Vec<TurnSchema>>,
    /// Whether earlier turns count as evidence too.
    #[schema(default = false)]
    history_is_evidence: Option<bool>,
    /// Other answers of the same model to the same prompt.
    samples: Option<Vec<String>>,
    /// Draw samples from the judge's endpoint where there are none and a method needs some. Needs `question`.
    #[schema(default = false)]
    draw_samples: Option<bool>,
    /// Name of the model that wrote the response: a judge of its family is warned of.
    #[schema(max_length = 256)]
    generator: Option<String>,
    /// Names of methods; `default` stands for several.
    #[schema(default = json!(["default"]))]
    methods: Option<Vec<String>>,
    /// Also score the atomic facts of each sentence.
    #[schema(default = false)]
    facts: Option<bool>,
    /// Also return the SummaC matrix.
    #[schema(default = false)]
    matrix: Option<bool>,
    /// Which methods always, which in the grey zone, which for an audit; instead of `methods`.
    policy: Option<PolicySchema>,
    /// Name of a calibration profile.
    profile: Option<String>,
    /// What is not scored by then is unchecked, with a reason. Default by lane.
    #[schema(minimum = 1)]
    deadline_ms: Option<u64>,
    /// Priority: whether someone waits.
    lane: Option<groundline_types::Lane>,
    /// Unit of offsets in the result.
    offsets: Option<groundline_types::OffsetUnit>,
    /// The caller's own; ignored.
    #[schema(value_type = Object)]
    meta: Option<Value>,
}

/// The first line of a stream: what [`CheckRequestSchema`] has without the response, and when to stop.
#[derive(Debug, Serialize)]
pub(crate) struct StreamHeadSchema;

impl PartialSchema for StreamHeadSchema {
    fn schema() -> RefOr<Schema> {
        let mut schema = CheckRequestSchema::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            object.description =
                Some("The first line of a stream: a request to check without its response.".to_owned());
            object.properties.remove("response");
            object.required.retain(|name| name != "response");
            object.properties.insert("stop_at".to_owned(), StopAt::schema());
        }
        schema
    }
}

impl ToSchema for StreamHeadSchema {
    fn name() -> Cow<'static, str> {
        "StreamHead".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        CheckRequestSchema::schemas(schemas);
    }
}

/// A response whose reward is asked for.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RewardRequest)]
pub(crate) struct RewardRequestSchema {
    #[serde(flatten)]
    check: CheckRequestSchema,
    /// The formula. Default: `gateway.reward.profile`.
    reward_profile: Option<groundline::RewardShape>,
}

/// A cascade of methods: the name of one of the configuration, or one of the request's own.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Policy)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the body in the OpenAPI document")]
pub(crate) enum PolicySchema {
    /// By name.
    Named(String),
    /// Its own.
    Own(groundline_types::CascadePolicy),
}

/// A piece of evidence: a text, or a text with a name.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Source)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the body in the OpenAPI document")]
pub(crate) enum SourceSchema {
    /// The text alone.
    Text(String),
    /// With a name.
    Named {
        /// The text.
        text: String,
        /// Names the source in results; made from the position where absent.
        id: Option<String>,
        /// For people.
        title: Option<String>,
    },
}

/// One turn of a conversation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Turn)]
pub(crate) struct TurnSchema {
    /// Who spoke, such as `user` or `assistant`.
    role: String,
    /// What was said.
    content: String,
}

/// The whole interface.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Groundline",
        description = "Checks what a language model says against its sources. Meanings of fields are in docs/protocol.md, examples in \
                       docs/http.md, error codes in docs/errors.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    paths(
        routes::check::check,
        routes::checks::submit,
        routes::checks::status,
        routes::stream::stream,
        routes::reward::reward,
        routes::openrlhf::get_reward,
        routes::listing::models,
        routes::listing::methods,
    ),
    components(schemas(
        routes::check::ManyChecks,
        routes::check::ManyResults,
        routes::reward::ManyRewards,
        routes::events::ProgressBody,
        ItemError,
        ProblemBody,
    )),
    modifiers(&Credentials),
    tags(
        (name = "checks", description = "Checking responses"),
        (name = "rewards", description = "Rewards for training"),
        (name = "listing", description = "What there is"),
    ),
)]
struct Interface;

/// The ways to send a key.
struct Credentials;

impl Modify for Credentials {
    fn modify(&self, document: &mut Document) {
        let components = document.components.get_or_insert_default();
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let header = ApiKey::Header(ApiKeyValue::new("X-API-Key"));
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
        components.add_security_scheme("key", SecurityScheme::ApiKey(header));
        let nothing = Vec::<String>::new;
        document.security = Some(vec![
            SecurityRequirement::new("bearer", nothing()),
            SecurityRequirement::new("key", nothing()),
        ]);
    }
}

/// The document as JSON.
pub(crate) fn document() -> String {
    // Every part is a struct of texts, which always can be written as JSON.
    let mut text = Interface::openapi().to_pretty_json().unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;
