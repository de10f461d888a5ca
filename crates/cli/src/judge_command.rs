//! `groundline judge`.

use crate::args::JudgeCommand;
use crate::failure::Failure;
use crate::output::{Sink, one_line, push};
use groundline::{AnswerFormat, Config, JudgeProbe, TokenLimitField, probe_judge};
use groundline_types::{Code, Problem};

/// Probes the configured judge and prints what it can do.
pub(crate) fn run(command: &JudgeCommand, config: &Config, sink: &mut Sink) -> Result<(), Failure> {
    let JudgeCommand::Probe { json } = command;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::new(Code::INTERNAL, format!("cannot start the runtime: {error}")))?;
    let probe = runtime.block_on(probe_judge(config))?;
    sink.write(&if *json { serde_json::to_string_pretty(&probe)? + "\n" } else { text(&probe) })?;
    Ok(())
}

fn text(probe: &JudgeProbe) -> String {
    let JudgeProbe { model, base_url, capabilities, usage, took_ms } = probe;
    let format = match capabilities.answer_format {
        AnswerFormat::SchemaNested => "JSON by schema, as OpenAI and vLLM have it",
        AnswerFormat::SchemaFlat => "JSON by schema, as llama.cpp has it",
        AnswerFormat::JsonObject => "JSON, without a schema",
        AnswerFormat::Text => "in words; the prompt asks for JSON",
    };
    let limit = match capabilities.token_limit {
        TokenLimitField::MaxTokens => "max_tokens",
        TokenLimitField::MaxCompletionTokens => "max_completion_tokens",
    };
    let has = |flag: bool| if flag { "yes" } else { "no" };
    let lines = [
        ("answers", format),
        ("label probabilities", has(capabilities.logprobs)),
        ("seed", has(capabilities.seed)),
        ("several samples in one call", has(capabilities.n)),
        ("temperature", has(capabilities.temperature)),
        ("limit of an answer", limit),
    ];
    let mut out = format!("{} at {}\n", one_line(model), one_line(base_url));
    for (what, found) in lines {
        push(&mut out, format_args!("  {what:<28} {found}\n"));
    }
    let tokens = usage.tokens.total_tokens();
    push(&mut out, format_args!("  probed with {} calls, {tokens} tokens, in {took_ms} ms\n", usage.calls));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_judge_the_error_names_the_settings() {
        let command = JudgeCommand::Probe { json: false };
        let failure = run(&command, &Config::default(), &mut Sink::stdout()).unwrap_err();
        let Failure::Problem(problem) = failure else { panic!("{failure:?}") };
        assert_eq!(problem.code, Code::JUDGE_MISSING);
        assert!(problem.message.contains("judge.base_url"), "{problem}");
    }
}
