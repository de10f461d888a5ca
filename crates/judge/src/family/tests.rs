use super::*;

#[test]
fn models_of_one_family_are_recognised_however_their_names_are_written() {
    for (judge, generator, family) in [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3.2:3b", "Llama"),
        ("gpt-4o", "o3-mini", "GPT"),
        ("openai/gpt-oss-20b", "chatgpt-4o-latest", "GPT"),
        ("claude-opus-4-1", "anthropic.claude-3-haiku", "Claude"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwq:32b", "Qwen"),
        ("deepseek-r1-distill-qwen-7b", "qwen3:8b", "Qwen"),
        ("deepseek-r1-distill-qwen-7b", "deepseek-chat", "DeepSeek"),
        ("mixtral-8x7b", "mistralai/Ministral-8B", "Mistral"),
        ("models/SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2:1.7b", "SmolLM"),
        ("gemini-2.5-pro", "google/gemma-3-4b-it", "Gemma and Gemini"),
        ("vicuna-13b", "Llama-2-13b-chat", "Llama"),
        ("nvidia/Llama-3.1-Nemotron-70B", "llama3", "Llama"),
        ("microsoft/phi-4", "phi3:mini", "Phi"),
    ] {
        assert_eq!(compare_families(judge, generator), FamilyMatch::Same(family), "{judge} and {generator}");
        assert_eq!(compare_families(generator, judge), FamilyMatch::Same(family), "{generator} and {judge}");
    }
}

#[test]
fn models_of_different_families_are_told_apart() {
    for (judge, generator) in [
        ("gpt-4o", "claude-sonnet-4"),
        ("Llama-3.1-8B", "Qwen2.5-7B"),
        ("EleutherAI/gpt-j-6b", "gpt-4o"),
        ("EleutherAI/gpt-neox-20b", "gpt-3.5-turbo"),
        ("mistral-small", "gemma-2-9b"),
    ] {
        assert_eq!(compare_families(judge, generator), FamilyMatch::Different, "{judge} and {generator}");
    }
}

#[test]
fn names_that_say_nothing_are_unknown_unless_they_are_equal() {
    assert_eq!(compare_families("judge-prod", "gpt-4o"), FamilyMatch::Unknown);
    assert_eq!(compare_families("", ""), FamilyMatch::Unknown);
    assert_eq!(compare_families("org/Our-Model", "our-model"), FamilyMatch::Same("the same model"));
    assert_eq!(compare_families("philosopher", "phi-4"), FamilyMatch::Unknown, "a word only begins like it");
    assert_eq!(compare_families("yippee-7b", "yi-34b"), FamilyMatch::Unknown);
}

#[test]
fn the_warning_names_the_family_and_nothing_of_the_request() {
    let warning = same_family_warning("gpt-4o", "gpt-canary-text").unwrap();
    assert_eq!(warning.code, Code::JUDGE_SAME_FAMILY);
    assert!(warning.message.contains("(GPT)") && !warning.message.contains("canary"));
    assert_eq!(same_family_warning("gpt-4o", "claude-3"), None);
}
