//! Detection methods as pure start + resume machines.
