//! Actors that take one response from text to verdict.
