//! `millstream sparc --history`: the figures that Sun and Oracle published beside the timing model's.

use std::fmt::Write;

use millstream_measure::figures::significant;
use millstream_measure::plot::Panel;
use millstream_ultrasparc::timing::counts::{Counts, RECORDED};
use millstream_ultrasparc::timing::history::{self, Claim, Experiment, How, Point};
use millstream_ultrasparc::timing::parameters::{self, CLASSES, Parameter};
use serde_json::{Value, json};

use crate::observe::table::table;

/// Returns the experiments, with the recorded instruction counts of the guest programs.
pub fn experiments() -> Vec<Experiment> {
    history::experiments(&RECORDED)
}

/// Formats a table for each experiment.
pub fn text(experiments: &[Experiment]) -> String {
    let mut text = String::new();
    for Experiment { title, source, unit, points, note } in experiments {
        let _ = writeln!(text, "{title} [{source}]");
        let model = format!("MODEL, {unit}");
        let columns = [("", false), ("SUN", true), (&*model, true), ("ERROR", true)];
        let rows: Vec<Vec<String>> = points.iter().map(row).collect();
        for line in table(&columns, &rows).lines() {
            let _ = writeln!(text, "  {line}");
        }
        for line in wrapped(note).iter().filter(|line| !line.is_empty()) {
            let _ = writeln!(text, "  {line}");
        }
        text.push('\n');
    }
    text.push_str(&summary(experiments));
    text
}

fn row(point: &Point) -> Vec<String> {
    let published = significant(point.published);
    let published = match point.claim {
        Claim::Measured => published,
        Claim::About => format!("about {published}"),
        Claim::UpTo => format!("up to {published}"),
        Claim::LessThan => format!("less than {published}"),
        Claim::MoreThan => format!("more than {published}"),
        Claim::None => String::new(),
    };
    vec![point.at.clone(), published, significant(point.model), verdict(point)]
}

/// Formats the error, or the reason why there is none.
fn verdict(point: &Point) -> String {
    match (point.how, point.error()) {
        (How::Fitted, _) => "fitted".to_owned(),
        (How::Counted, Some(error)) => format!("{} (counted)", percent(error)),
        (How::Counted, None) => "counted".to_owned(),
        (How::Predicted, Some(error)) => percent(error),
        (How::Predicted, None) if point.is_limit() => {
            if point.agrees() { "holds" } else { "fails" }.to_owned()
        }
        (How::Predicted, None) => "-".to_owned(),
    }
}

/// Formats a percentage with a sign, unless it is next to nothing.
fn percent(part: f64) -> String {
    let text = format!("{:+.1} %", 100.0 * part);
    if text == "-0.0 %" || text == "+0.0 %" { "0.0 %".to_owned() } else { text }
}

/// Wraps a text at a hundred columns.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() > 98 {
            lines.push(word.to_owned());
        } else {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines
}

/// Summarises how many points were predicted, and how well.
fn summary(experiments: &[Experiment]) -> String {
    let points = || experiments.iter().flat_map(|experiment| &experiment.points);
    let errors: Vec<f64> = points().filter_map(Point::error).map(f64::abs).collect();
    let within = errors.iter().filter(|&&error| error <= history::TOLERANCE).count();
    let worst = errors.iter().copied().fold(0.0, f64::max);
    let limits = || points().filter(|point| point.is_limit());
    let kept = limits().filter(|point| point.agrees()).count();
    let fitted = points().filter(|point| point.how == How::Fitted).count();
    format!(
        "{fitted} figures went into the fit. Of {} others, {within} are within {:.0} %; the worst is {:.1} % off. Of {} limits, \
         {kept} hold.\n",
        errors.len(),
        100.0 * history::TOLERANCE,
        100.0 * worst,
        limits().count(),
    )
}

/// Returns the same for programs, with every parameter of the model and its source.
pub fn json(experiments: &[Experiment]) -> Value {
    let points = |points: &[Point]| -> Vec<Value> {
        let claim = |claim| match claim {
            Claim::Measured => "measured",
            Claim::About => "about",
            Claim::UpTo => "up to",
            Claim::LessThan => "less than",
            Claim::MoreThan => "more than",
            Claim::None => "none",
        };
        let how = |how| match how {
            How::Fitted => "fitted",
            How::Predicted => "predicted",
            How::Counted => "counted",
        };
        let point = |point: &Point| {
            let published = (point.claim != Claim::None).then_some(point.published);
            json!({
                "at": point.at, "published": published, "claim": claim(point.claim), "model": point.model,
                "how": how(point.how), "error": point.error(), "agrees": point.agrees(),
            })
        };
        points.iter().map(point).collect()
    };
    let experiment = |experiment: &Experiment| {
        json!({
            "title": experiment.title, "source": experiment.source, "unit": experiment.unit,
            "points": points(&experiment.points), "note": experiment.note,
        })
    };
    let parameter = |Parameter { name, value, unit, origin }: &Parameter| {
        json!({
            "name": name, "value": value, "unit": unit, "origin": origin.word(),
            "explanation": origin.explanation(),
        })
    };
    let Counts { fast_submit, aes_t4_1kb, aes_software_1kb, .. } = RECORDED;
    let Counts { ghash_tables_1kb, ghash_bytes_1kb, ghash_xmulx_1kb, .. } = RECORDED;
    let class = |(class, cycles, origin): &(_, [f64; 5], parameters::Origin)| {
        json!({
            "class": format!("{class:?}"), "cycles": cycles, "origin": origin.word(),
            "explanation": origin.explanation(),
        })
    };
    json!({
        "version": 1,
        "experiments": experiments.iter().map(experiment).collect::<Vec<_>>(),
        "parameters": parameters::ALL.iter().map(parameter).collect::<Vec<_>>(),
        "classes": CLASSES.iter().map(class).collect::<Vec<_>>(),
        "counts": {
            "fast_submit": fast_submit, "aes_t4_1kb": aes_t4_1kb, "aes_software_1kb": aes_software_1kb,
            "ghash_tables_1kb": ghash_tables_1kb, "ghash_bytes_1kb": ghash_bytes_1kb,
            "ghash_xmulx_1kb": ghash_xmulx_1kb,
        },
    })
}

/// Returns a panel with both curves for each experiment over lengths of objects.
pub fn panels(experiments: &[Experiment]) -> Vec<Panel> {
    let over_lengths = |experiment: &&Experiment| {
        experiment.points.iter().all(|p| p.claim == Claim::Measured && p.at.ends_with(" bytes"))
    };
    let panel = |experiment: &Experiment| {
        let curve = |value: fn(&Point) -> f64| {
            let points = experiment.points.iter();
            points.filter_map(|point| Some((bytes(&point.at)?, value(point)))).collect()
        };
        let curves =
            vec![("Sun".to_owned(), curve(|p| p.published)), ("the model".to_owned(), curve(|p| p.model))];
        Panel { title: experiment.title.to_owned(), x: "bytes", y: "MB a second", curves }
    };
    experiments.iter().filter(over_lengths).map(panel).collect()
}

/// Returns the number that a point's place begins with.
fn bytes(at: &str) -> Option<f64> {
    at.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_measure::plot;

    #[test]
    fn fits_and_predictions_are_told_apart() {
        let text = text(&experiments());
        let line = |begin: &str| text.lines().find(|line| line.trim_start().starts_with(begin)).unwrap();
        assert!(line("16 bytes").contains("488") && line("16 bytes").ends_with("fitted"), "{text}");
        assert!(line("64 bytes").contains("817") && line("64 bytes").ends_with('%'), "{text}");
        assert!(text.contains("holds") && text.contains("(counted)"), "{text}");
    }

    #[test]
    fn json_has_all_and_every_parameter_says_where_it_comes_from() {
        let value = json(&experiments());
        assert_eq!(value["experiments"].as_array().unwrap().len(), experiments().len());
        for parameter in value["parameters"].as_array().unwrap() {
            assert!(!parameter["explanation"].as_str().unwrap().is_empty(), "{parameter}");
        }
    }

    #[test]
    fn the_picture_has_five_panels_of_two_curves() {
        let panels = panels(&experiments());
        assert_eq!(panels.len(), 5);
        assert!(panels.iter().all(|panel| panel.curves.iter().all(|(_, points)| points.len() == 5)));
        assert!(plot::svg(&panels, "").unwrap().starts_with("<svg"));
    }
}
