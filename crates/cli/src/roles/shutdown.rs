//! When a serving process ends.

use crate::failure::Failure;
use groundline_types::{Code, Problem};
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Exit status where a second signal cuts a stop short.
const EXIT_CUT_SHORT: i32 = 1;

/// Waits for SIGTERM or SIGINT: the first begins a stop in good order, the second ends the process at once.
#[derive(Debug)]
pub(super) struct Shutdown {
    asked: watch::Receiver<bool>,
}

impl Shutdown {
    /// Listens from now on, on a thread of its own, so that a second signal ends the process whatever the rest of it does.
    pub(super) fn listen(runtime: &Handle) -> Result<Self, Problem> {
        let internal = |error| Problem::new(Code::INTERNAL, format!("cannot listen to signals: {error}"));
        let mut term = signal(SignalKind::terminate()).map_err(internal)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(internal)?;
        let (sender, asked) = watch::channel(false);
        let runtime = runtime.clone();
        let listen = move || {
            runtime.block_on(async {
                either(&mut term, &mut interrupt).await;
                tracing::info!("a signal asks this process to stop");
                sender.send_replace(true);
                either(&mut term, &mut interrupt).await;
                std::process::exit(EXIT_CUT_SHORT);
            });
        };
        let thread = std::thread::Builder::new().name("groundline-signals".to_owned()).spawn(listen);
        thread.map_err(internal)?;
        Ok(Self { asked })
    }

    /// What a start-up step gives; `None` where a signal comes first, which may be long before a broker is there.
    pub(super) async fn unless_asked<T>(
        &self,
        step: impl Future<Output = Result<T, Problem>>,
    ) -> Result<Option<T>, Failure> {
        let mut asked = self.asked.clone();
        tokio::select! {
            biased;
            _ = asked.wait_for(|asked| *asked) => Ok(None),
            outcome = step => Ok(Some(outcome?)),
        }
    }

    /// Waits for a signal, which is no failure, or for what went wrong.
    pub(super) async fn wait_or(&self, failed: impl Future<Output = Problem>) -> Result<(), Failure> {
        let mut asked = self.asked.clone();
        tokio::select! {
            biased;
            _ = asked.wait_for(|asked| *asked) => Ok(()),
            problem = failed => {
                tracing::error!(code = %problem.code, "this process has failed and stops");
                Err(problem.into())
            }
        }
    }
}

async fn either(term: &mut Signal, interrupt: &mut Signal) {
    tokio::select! {
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
}
