//! A curve as a picture: a small SVG that needs nothing but a browser.

use std::fmt::Write as _;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 360.0;
/// Space for the labels and titles of the axes.
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
/// About how many labels an axis has.
const TICKS: f64 = 8.0;

/// Points in the order of their first number.
#[derive(Debug)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x_title: &'static str,
    pub(crate) y_title: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
    /// A straight line beside them, from its first to its last point.
    pub(crate) trend: Option<[(f64, f64); 2]>,
}

impl Plot {
    pub(crate) fn to_svg(&self) -> String {
        let last = self.points.iter().map(|point| point.0).fold(0.0, f64::max);
        let most = self.points.iter().map(|point| point.1).fold(0.0, f64::max);
        // Both begin at zero: a curve that looks steep must be.
        let (x, y) = (
            Axis::new(last, LEFT, WIDTH - RIGHT),
            Axis::new(most, HEIGHT - BOTTOM, TOP),
        );
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
        );
        let (left, right, top, bottom) = (LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM);
        text(&mut svg, (WIDTH / 2.0, 24.0), "middle", &self.title);
        text(
            &mut svg,
            (WIDTH / 2.0, HEIGHT - 10.0),
            "middle",
            self.x_title,
        );
        text(&mut svg, (left, top - 10.0), "end", self.y_title);
        for (value, at) in x.ticks() {
            line(&mut svg, (at, top), (at, bottom), "#ddd");
            text(&mut svg, (at, bottom + 18.0), "middle", &value);
        }
        for (value, at) in y.ticks() {
            line(&mut svg, (left, at), (right, at), "#ddd");
            text(&mut svg, (left - 6.0, at + 4.0), "end", &value);
        }
        let points: Vec<String> = self
            .points
            .iter()
            .map(|point| format!("{:.1},{:.1}", x.place(point.0), y.place(point.1)))
            .collect();
        _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"#1f6feb\" stroke-width=\"1.5\" points=\"{}\"/>",
            points.join(" ")
        );
        if let Some(trend) = self.trend {
            let [from, to] = trend.map(|(a, b)| (x.place(a), y.place(b)));
            line(&mut svg, from, to, "#d1242f");
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// Values from zero on, and where they are drawn.
struct Axis {
    step: f64,
    end: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn new(most: f64, from: f64, to: f64) -> Self {
        let step = round_step(most / TICKS);
        let end = (most / step).ceil().max(1.0) * step;
        Self {
            step,
            end,
            from,
            to,
        }
    }

    fn place(&self, value: f64) -> f64 {
        self.from + value / self.end * (self.to - self.from)
    }

    fn ticks(&self) -> impl Iterator<Item = (String, f64)> {
        let count = (self.end / self.step).round() as u32;
        (0..=count).map(|number| {
            let value = f64::from(number) * self.step;
            let decimals = usize::from(self.step < 1.0);
            (format!("{value:.decimals$}"), self.place(value))
        })
    }
}

/// The next of 1, 2, 5, 10, 20, …
fn round_step(least: f64) -> f64 {
    if least <= 0.0 || !least.is_finite() {
        return 1.0;
    }
    let magnitude = 10_f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|factor| factor * magnitude);
    let step = steps.into_iter().find(|step| *step >= least);
    step.unwrap_or(10.0 * magnitude)
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, what: &str) {
    let what = what.replace('&', "&amp;").replace('<', "&lt;");
    _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{what}</text>"
    );
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    _ = writeln!(
        svg,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>",
        from.0, from.1, to.0, to.1
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_numbers_that_people_read() {
        for (least, step) in [
            (0.9, 1.0),
            (1.1, 2.0),
            (3.0, 5.0),
            (51.0, 100.0),
            (0.0, 1.0),
        ] {
            assert!((round_step(least) - step).abs() < 1e-9, "{least}");
        }
    }

    #[test]
    fn all_points_are_drawn_within_the_picture() {
        let plot = Plot {
            title: "a < b".to_owned(),
            x_title: "s",
            y_title: "MB",
            points: vec![(0.0, 40.0), (30.0, 80.0), (60.0, 40.0)],
            trend: Some([(30.0, 60.0), (60.0, 60.0)]),
        };

        let svg = plot.to_svg();

        assert!(svg.contains("a &lt; b"), "{svg}");
        // Zero stands where the axes meet, the last second at the right end.
        assert!(svg.contains("points=\"60.0,175.0 "), "{svg}");
        let curve = svg
            .split("points=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        let places: Vec<Vec<f64>> = curve
            .unwrap_or_default()
            .split(' ')
            .map(|place| place.split(',').map(|at| at.parse().unwrap()).collect())
            .collect();
        assert_eq!(places.len(), 3);
        for place in places {
            assert!((LEFT..=WIDTH - RIGHT).contains(&place[0]));
            assert!((TOP..=HEIGHT - BOTTOM).contains(&place[1]));
        }
    }
}
