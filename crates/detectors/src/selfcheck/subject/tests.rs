use super::*;
use crate::selfcheck::sampled;
use crate::testing::sampled_check;

fn speaking(samples: &[&str], claim: &str) -> Vec<bool> {
    let check = sampled_check(samples, &[claim], 50);
    Subjects::new(&check.samples, &sampled::distinct(&check)).speaking(claim)
}

#[test]
fn samples_that_say_otherwise_of_the_same_thing_speak_about_it() {
    let samples =
        ["Ada Byron married William King.", "Ada Byron married Paul Adams.", "Ada Byron wrote programs."];
    assert_eq!(speaking(&samples, "Ada Byron married Paul Adams in 1990."), [true, true, false]);
    assert_eq!(speaking(&samples, "She married Paul Adams in 1990."), [true, true, false]);
}

#[test]
fn the_name_at_the_beginning_must_be_there_where_any_sample_has_it() {
    let samples = ["The Nile flows north.", "The Rhine flows north."];
    assert_eq!(speaking(&samples, "The Nile flows south."), [true, false]);
    assert_eq!(speaking(&samples, "The Elbe flows south."), [true, true]);
}

#[test]
fn where_no_sample_has_a_topic_word_none_speaks() {
    assert_eq!(speaking(&["She sings.", "She acts."], "She married Paul in 1990."), [false, false]);
}

#[test]
fn without_a_topic_word_the_name_decides() {
    assert_eq!(speaking(&["Paris is old.", "Rome is old."], "Paris has 2."), [true, false]);
    assert_eq!(speaking(&["Rome is old.", "Oslo is old."], "It is 1990."), [true, true]);
}

#[test]
fn a_third_of_the_shared_topic_words_is_enough_and_less_is_not() {
    let samples =
        ["He was born there.", "A small town.", "It rained in summer near mountains.", "He sleeps."];
    let claim = "He was born in a small town near mountains in summer.";
    assert_eq!(speaking(&samples, claim), [false, true, true, false]);
}
