// SPDX-License-Identifier: MIT OR Apache-2.0
//! Replays a log of calls before breakers with other settings, and recommends some: `atomic-breaker-tune --help`.
//!
//! | module | contents |
//! |---|---|
//! | `arguments` | the options of the command |
//! | `advice` | which options may help, in words to paste |
//! | `progress` | how far the search is; Ctrl-C |
//! | `words`, `table` | numbers and times as text; a table of what settings cost |
//! | `output` | the tables that are printed |
//! | `others` | other settings to choose |
//! | `limits` | the time limit that the answers suggest |
//! | `verdict` | what the figures mean |
//! | `json` | the result for machines |
//! | `picture` | the largest incident to look at |

mod advice;
mod arguments;
mod json;
mod limits;
mod others;
mod output;
mod picture;
mod progress;
mod table;
mod verdict;
mod words;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use atomic_breaker_tune::{
    CallLog, Config, LogReader, NoRecommendation, Recommend, Recommendation, Replay,
};
use clap::Parser;

use advice::explained;
use arguments::Arguments;
use progress::{Progress, in_threads};

/// Nothing is recommended, because nothing shows what is better, or no settings are better than no breaker.
const NOTHING: u8 = 3;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => code,
        Err(error) => {
            // The reader of a pipe has left: it has what it wanted.
            let cause = error.downcast_ref::<io::Error>();
            if cause.is_some_and(|it| it.kind() == io::ErrorKind::BrokenPipe) {
                return ExitCode::SUCCESS;
            }
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let file = File::open(path).with_context(|| path.display().to_string())?;
    Ok(Box::new(BufReader::with_capacity(1 << 18, file)))
}

fn rules(path: &Path) -> Result<Config> {
    let name = || path.display().to_string();
    let text = fs::read_to_string(path).with_context(name)?;
    toml::from_str(&text).with_context(name)
}

/// Checks that the output can be written, before the work begins.
fn check_output(path: Option<&Path>, log: &Path) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let words = || format!("cannot write {}", path.display());
    let is_new = !path.exists();
    if !is_new && path.canonicalize().ok() == log.canonicalize().ok() {
        bail!("{}: that is the log, which would be lost", words());
    }
    let file = OpenOptions::new().create(true).append(true).open(path);
    drop(file.with_context(words)?);
    // Nothing may come of it.
    if is_new {
        fs::remove_file(path).with_context(words)?;
    }
    Ok(())
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    check_output(arguments.json.as_deref(), &arguments.log)?;
    check_output(arguments.picture.as_deref(), &arguments.log)?;
    let today = arguments.today.as_deref().map(rules).transpose()?;
    let only = arguments.only.as_deref().map(rules).transpose()?;
    let input = open(&arguments.log)?;
    let reader = arguments.reader();
    if let Some(config) = only {
        return replay_only(arguments, &config, &reader, input);
    }
    let read = reader.read(input);
    let read = read.map_err(|error| explained(&arguments.log, error))?;
    let mut log = read.log;
    let replay = arguments.replay(log.keys().len() > 1);
    let mut out = io::stdout().lock();
    let name = arguments.log.display().to_string();
    output::read(&mut out, &name, &log, &read.summary)?;
    if read.summary.is_mostly_skipped() {
        writeln!(
            out,
            "\nNothing to recommend: most lines were skipped, and those that were read may differ from them. Say what their \
             columns and units are, or leave out the lines that are no calls."
        )?;
        return Ok(ExitCode::from(NOTHING));
    }
    let found = match search(arguments, replay, today, &mut log) {
        Ok(found) => found,
        Err(
            nothing @ (NoRecommendation::NoIncident { .. } | NoRecommendation::AllFailed { .. }),
        ) => {
            writeln!(out, "\nNothing to recommend: {nothing}.")?;
            limits::limits(&mut out, &log, &[], arguments.useful_within)?;
            return Ok(ExitCode::from(NOTHING));
        }
        Err(error) => bail!(error),
    };
    let useful = arguments.useful_within;
    output::found(&mut out, &log, &found, arguments.weights(), useful)?;
    if let Some(path) = &arguments.json {
        let text = json::text(&log, &read.summary, &found, arguments.weights())?;
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if !found.is_better_than_none() {
        return Ok(ExitCode::from(NOTHING));
    }
    if let Some(path) = &arguments.picture {
        picture::draw(path, &replay, &log, &found)
            .with_context(|| format!("cannot draw {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn replay_only(
    arguments: &Arguments,
    config: &Config,
    reader: &LogReader,
    input: Box<dyn BufRead>,
) -> Result<ExitCode> {
    let explained = |error| explained(&arguments.log, error);
    let mut calls = reader.stream(input).map_err(explained)?;
    let replayed = arguments.replay(true).stream(config, &mut calls)?;
    let summary = calls.end().map_err(explained)?;
    let mut out = io::stdout().lock();
    output::replayed(&mut out, &replayed, &summary, arguments.weights())?;
    Ok(ExitCode::SUCCESS)
}

fn search(
    arguments: &Arguments,
    replay: Replay,
    today: Option<Config>,
    log: &mut CallLog,
) -> Result<Recommendation, NoRecommendation> {
    let mut recommend = Recommend::new()
        .replay(replay)
        .weights(arguments.weights())
        .tries(arguments.tries);
    if let Some(today) = today {
        recommend = recommend.today(today);
    }
    let progress = Progress::new(arguments.tries);
    let found = in_threads(arguments.threads, || {
        recommend.run_while(log, |done| progress.goes_on(done))
    });
    progress.end();
    found
}
