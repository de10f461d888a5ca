//! Text to sentences and atomic facts with byte spans.
