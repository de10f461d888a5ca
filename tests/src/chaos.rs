//! Ring 4: a cluster of real processes under faults that follow from a seed, watched from outside.
//!
//! A broker, two gateways, a coordinator and three workers run as processes; callers ask without pause; incidents happen as the
//! schedule says, which is printed before anything runs. What must hold, whatever happens:
//!
//! - every check that was asked for is answered, refused or failed with a code, no later than its deadline and a tick; its connection
//!   breaks only where its gateway was made to;
//! - an answer says what one process alone says: every score, the number of pairs, and no coverage that was not reached;
//! - with at least one worker within reach, whoever waits long enough gets a whole answer, and so does whoever hands a check in,
//!   unless the broker lost everything meanwhile;
//! - afterwards the queues are empty, nothing is undecided, and the dead are the planned poison and nothing else;
//! - processes stop in good order when told, stay within their memory and do not grow, and log no errors.
//!
//! It holds one line of JSON for each event; where something does not hold, all logs are kept.

mod checker;
mod cluster;
mod events;
mod load;
mod memory;
mod netns;
mod run;
mod schedule;
mod verify;

pub use run::{Options, run};
