//! What a claim is checked against: windows of a source.
