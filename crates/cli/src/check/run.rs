//! The loop that reads, checks and prints, with a bounded number of responses in flight.

use super::plan::complete;
use super::tally::Tally;
use super::window::Window;
use crate::args::CheckArgs;
use crate::console::Console;
use crate::failure::Failure;
use crate::input::{Position, Record};
use crate::interrupt::Interrupts;
use crate::output::{self, Layout, Sink, render_result};
use crate::progress::{Forecast, rough, thousands};
use groundline::{CancelToken, CheckObserver, Checker, Config, Progress, Stage};
use groundline_types::{CheckResult, OffsetUnit, Problem};
use std::collections::VecDeque;
use std::future::ready;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval};

/// How often progress is looked at.
const TICK: Duration = Duration::from_millis(200);

/// What a run needs to know.
pub(super) struct RunOptions {
    /// Whether requests come from files.
    pub(super) many: bool,
    /// Bytes of these files; 0 where not known.
    pub(super) total_bytes: u64,
    /// How text is laid out.
    pub(super) layout: Layout,
    /// What was typed.
    pub(super) args: CheckArgs,
    /// The settings.
    pub(super) config: Config,
}

/// One run of `check`.
pub(super) struct Run<'a> {
    options: RunOptions,
    console: &'a mut Console,
    sink: Sink,
    interrupts: Interrupts,
    /// Loaded for the first request that needs it: broken input is reported without waiting for a model.
    checker: Option<Checker>,
    window: Window<Finished>,
    /// One for each future of the window.
    watched: VecDeque<Option<WatchedCheck>>,
    tally: Tally,
    bytes_done: u64,
    started: Instant,
    /// When the first score of a single check could be seen: loading the model says nothing about the rate.
    scoring_since: Option<Instant>,
    announced: bool,
    interrupted: bool,
}

/// A check that is under way, as seen from here.
struct WatchedCheck {
    progress: watch::Receiver<Progress>,
    cancel: CancelToken,
}

fn watch_check() -> (CheckObserver, WatchedCheck) {
    let (sender, progress) = watch::channel(Progress::default());
    let cancel = CancelToken::default();
    let observer = CheckObserver { progress: Some(sender), cancel: Some(cancel.clone()) };
    (observer, WatchedCheck { progress, cancel })
}

/// A response that was checked, or could not be.
struct Finished {
    position: Position,
    /// The id that the request gives itself.
    id: Option<String>,
    offsets: OffsetUnit,
    bytes_read: u64,
    outcome: Result<CheckResult, Problem>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        options: RunOptions,
        console: &'a mut Console,
        sink: Sink,
        interrupts: Interrupts,
    ) -> Self {
        Self {
            options,
            console,
            sink,
            interrupts,
            checker: None,
            window: Window::new(),
            watched: VecDeque::new(),
            tally: Tally::default(),
            bytes_done: 0,
            started: Instant::now(),
            scoring_since: None,
            announced: false,
            interrupted: false,
        }
    }

    /// Works the records off and answers with the exit status.
    pub(super) async fn finish(mut self, mut records: mpsc::Receiver<Record>) -> Result<u8, Failure> {
        // No shutdown in good order: what may still run has no reader, and the process ends.
        let outcome = self.drive(&mut records).await.and_then(|()| self.print_totals());
        match outcome {
            Ok(()) => Ok(self.tally.exit_status(self.interrupted)),
            Err(Failure::OutputClosed(_)) => {
                let status = self.tally.exit_status_unread(self.options.args.fail_under);
                Err(Failure::OutputClosed(status))
            }
            Err(failure) => Err(failure),
        }
    }

    async fn drive(&mut self, records: &mut mpsc::Receiver<Record>) -> Result<(), Failure> {
        let mut open = true;
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while open || !self.window.is_empty() {
            let most = self.options.args.jobs.min(self.options.config.coordinator.max_checks);
            let room = self.window.len() < most;
            tokio::select! {
                biased;
                () = self.interrupts.wait(), if !self.interrupted => {
                    self.interrupted = true;
                    open = false;
                    self.cancel_all();
                }
                finished = self.window.next(), if !self.window.is_empty() => self.print(finished)?,
                record = records.recv(), if open && room => match record {
                    Some(record) => self.begin(record)?,
                    None => open = false,
                },
                _ = ticks.tick() => self.show_progress(),
            }
        }
        Ok(())
    }

    fn begin(&mut self, record: Record) -> Result<(), Failure> {
        let Record { position, id, request, bytes_read } = record;
        let refused = |problem: Problem, position, id| Finished {
            position,
            id,
            offsets: OffsetUnit::Bytes,
            bytes_read,
            outcome: Err(problem),
        };
        let request = match request {
            Ok(request) => complete(
                request,
                &id.clone().unwrap_or_else(|| position.made_id()),
                &self.options.args,
                &self.options.config,
            ),
            Err(problem) => {
                self.window.push(ready(refused(problem, position, id)));
                self.watched.push_back(None);
                return Ok(());
            }
        };
        let checker = match &self.checker {
            Some(checker) => checker.clone(),
            None => {
                let loaded = Checker::embedded(self.options.config.clone())?;
                self.checker.insert(loaded).clone()
            }
        };
        let offsets = request.offsets.unwrap_or_default();
        let (observer, watched) = watch_check();
        self.window.push(async move {
            let outcome = checker.check_with(request, observer).await;
            Finished { position, id, offsets, bytes_read, outcome }
        });
        self.watched.push_back(Some(watched));
        Ok(())
    }

    fn cancel_all(&self) {
        for watched in self.watched.iter().flatten() {
            watched.cancel.cancel();
        }
    }

    fn print(&mut self, finished: Finished) -> Result<(), Failure> {
        self.watched.pop_front();
        self.bytes_done = self.bytes_done.max(finished.bytes_read);
        let args = &self.options.args;
        match &finished.outcome {
            Ok(result) => {
                self.tally.result(result, args.fail_under);
                let text = if args.json {
                    output::result_line(result)?
                } else {
                    render_result(result, &Layout { offsets: finished.offsets, ..self.options.layout })
                };
                self.console.write(&mut self.sink, &text)?;
            }
            Err(problem) => {
                self.tally.problem(problem);
                if args.json {
                    let line = output::error_line(&finished.position, finished.id.as_deref(), problem)?;
                    self.console.write(&mut self.sink, &line)?;
                }
                if !args.json || !self.options.many {
                    // Some problems name the file themselves.
                    let place = finished
                        .position
                        .describe()
                        .filter(|place| !problem.message.contains(place.as_str()));
                    self.console.report(problem, place.as_deref());
                }
            }
        }
        Ok(())
    }

    /// The last line of the text output for files: everything together.
    fn print_totals(&mut self) -> Result<(), Failure> {
        let count = self.tally.answered + self.tally.broken;
        if self.options.args.json || !self.options.many || count < 2 {
            return Ok(());
        }
        let palette = self.options.layout.palette;
        let mut text = format!("{} responses", thousands(count as u64));
        if self.tally.broken > 0 {
            text += &palette.bad(&format!(", {} of them broken", self.tally.broken));
        }
        let seconds = self.started.elapsed().as_secs_f64();
        let line = self.tally.totals.line(palette, seconds);
        self.console.write(&mut self.sink, &format!("{text}: {line}\n"))?;
        Ok(())
    }

    fn show_progress(&mut self) {
        let elapsed = self.started.elapsed();
        if self.options.many {
            let forecast = Forecast { done: self.bytes_done, total: self.options.total_bytes, elapsed };
            let done = self.tally.answered + self.tally.broken;
            let message = format!("{} responses{}", thousands(done as u64), left(&forecast));
            if let Some(total) = self.announce(&forecast) {
                self.console.tell(&format!("about {} for the whole input; {HOW_TO_STOP}", rough(total)));
            }
            self.console.draw(forecast.done, forecast.total, message);
            return;
        }
        let Some(watched) = self.watched.front().and_then(Option::as_ref) else { return };
        let progress = *watched.progress.borrow();
        if progress.stage < Stage::Scoring {
            return;
        }
        let elapsed = self.scoring_since.get_or_insert_with(Instant::now).elapsed();
        let (done, total) = (progress.done_items as u64, progress.planned_items as u64);
        let forecast = Forecast { done, total, elapsed };
        if let Some(time) = self.announce(&forecast) {
            let threads = self.options.config.engine.thread_count();
            let (scores, time) = (thousands(total), rough(time));
            self.console.tell(&format!(
                "about {scores} scores to compute, roughly {time} on {threads} threads; {HOW_TO_STOP}"
            ));
        }
        let message = format!("{} of {} scores{}", thousands(done), thousands(total), left(&forecast));
        self.console.draw(done, total, message);
    }

    /// The whole time of large work, once.
    fn announce(&mut self, forecast: &Forecast) -> Option<Duration> {
        if self.announced {
            return None;
        }
        let time = forecast.announcement()?;
        self.announced = true;
        Some(time)
    }
}

const HOW_TO_STOP: &str = "Ctrl-C stops and prints what is done";

fn left(forecast: &Forecast) -> String {
    forecast.remaining().map(|rest| format!(" · about {} left", rough(rest))).unwrap_or_default()
}
