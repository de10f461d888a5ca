use super::*;
use groundline_testkit::{ToyEngine, ToyHooks};
use groundline_types::Work;

#[test]
fn a_panic_in_the_engine_fails_only_the_item_that_is_to_blame() {
    let engine = ToyEngine::new(ToyHooks { panic_word: Some("bomb".to_owned()), ..ToyHooks::default() });
    let texts = ["one", "the bomb", "two"];
    let items = texts.map(|text| engine.encode(&Work::Embed { text: text.into() }).unwrap());
    let results = run_guarded(&engine, &items);
    assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(results[1].as_ref().unwrap_err().code, Code::INTERNAL);
}
