//! Hallucination detection as a library: check a response against its sources.
