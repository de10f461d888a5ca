//! Actors that pull, batch, score and answer.
