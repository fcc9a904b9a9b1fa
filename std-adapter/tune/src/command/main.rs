//! Replays a log of calls before breakers with other settings, and recommends some: `atomic-breaker-tune --help`.
//!
//! | module | contents |
//! |---|---|
//! | `arguments` | what it is asked |
//! | `advice` | which options to give |
//! | `progress` | how far it is; Ctrl-C |
//! | `words` | numbers, times and tables as text |
//! | `output` | what it prints |
//! | `others` | other settings to choose |
//! | `verdict` | what the figures mean |
//! | `json` | the same for machines |
//! | `picture` | the same to look at |

mod advice;
mod arguments;
mod json;
mod others;
mod output;
mod picture;
mod progress;
mod verdict;
mod words;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use atomic_breaker_tune::{Config, Keys, NoRecommendation, Recommend, Replay};
use clap::Parser;

use advice::explained;
use arguments::Arguments;
use progress::{Shown, in_threads};

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

/// What cannot be written is noticed before the work.
fn check_output(path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let words = || format!("cannot write {}", path.display());
    let is_new = !path.exists();
    let file = OpenOptions::new().create(true).append(true).open(path);
    drop(file.with_context(words)?);
    // Nothing may come of it.
    if is_new {
        fs::remove_file(path).with_context(words)?;
    }
    Ok(())
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    check_output(arguments.json.as_deref())?;
    check_output(arguments.picture.as_deref())?;
    let today = arguments.today.as_deref().map(rules).transpose()?;
    let only = arguments.only.as_deref().map(rules).transpose()?;
    let input = open(&arguments.log)?;
    let name = arguments.log.display().to_string();
    let reading = arguments.reading();
    if let Some(config) = only {
        let calls = reading.stream(input);
        let mut calls = calls.map_err(|error| explained(&arguments.log, error))?;
        let keys = arguments.keys(true);
        let replayed = arguments.replay(keys).stream(&config, &mut calls)?;
        let skipped = calls.end();
        let skipped = skipped.map_err(|error| explained(&arguments.log, error))?;
        output::replayed(
            &mut io::stdout().lock(),
            &replayed,
            &skipped,
            arguments.weights(),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let read = reading.read(input);
    let read = read.map_err(|error| explained(&arguments.log, error))?;
    let mut log = read.log;
    let keys = arguments.keys(log.keys().len() > 1);
    let replay = arguments.replay(keys);
    let mut out = io::stdout().lock();
    output::read(&mut out, &name, &log, &read.skipped)?;
    let found = search(arguments, replay, today, &mut log);
    let found = match found {
        Ok(found) => found,
        Err(nothing @ NoRecommendation::NoIncident { .. }) => {
            writeln!(out, "\nNothing to recommend: {nothing}.")?;
            return Ok(ExitCode::from(NOTHING));
        }
        Err(error) => bail!(error),
    };
    let has_limit = replay.useful_within.is_some();
    output::found(&mut out, &log, &found, arguments.weights(), has_limit)?;
    if let Some(path) = &arguments.json {
        let text = json::text(&log, &read.skipped, &found, arguments.weights())?;
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

fn search(
    arguments: &Arguments,
    replay: Replay,
    today: Option<Config>,
    log: &mut atomic_breaker_tune::Log,
) -> Result<atomic_breaker_tune::Recommendation, NoRecommendation> {
    let mut recommend = Recommend::new()
        .replay(replay)
        .weights(arguments.weights())
        .tries(arguments.tries)
        .seed(arguments.seed);
    if let Some(today) = today {
        recommend = recommend.today(today);
    }
    let shown = Shown::new(arguments.tries);
    let found = in_threads(arguments.threads, || recommend.run(log, &shown));
    shown.end();
    found
}

impl Arguments {
    fn keys(&self, many: bool) -> Keys {
        if self.one || !many {
            Keys::One
        } else {
            Keys::Each {
                capacity: self.capacity,
            }
        }
    }
}
