//! The maximum of a smooth function: L-BFGS with a backtracking line search.
//!
//! Nocedal and Wright, "Numerical Optimization", 2nd edition, algorithms 7.4 and 3.1. The functions
//! here are concave in all parameters but one, have some dozens of parameters, and are cheap.

use std::collections::VecDeque;

/// Number of steps whose curvature is remembered.
const MEMORY: usize = 8;
const ITERATIONS_MAX: usize = 500;
/// The norm of the gradient at which the search has converged.
const FLAT: f64 = 1e-6;
/// Maximum halvings of a step that does not go up.
const HALVINGS_MAX: usize = 40;
/// The part of the increase predicted by the slope that a step must achieve.
const ENOUGH: f64 = 1e-4;

/// The value and the gradient of a function at a point.
pub(super) struct Evaluation {
    pub(super) value: f64,
    pub(super) gradient: Vec<f64>,
}

/// Finds the maximum by ascent from `start`. The function may be minus infinity.
pub(super) fn maximum(start: Vec<f64>, function: impl Fn(&[f64]) -> Evaluation) -> Vec<f64> {
    let mut at = start;
    let mut here = function(&at);
    let mut steps: VecDeque<Curve> = VecDeque::with_capacity(MEMORY);
    for _ in 0..ITERATIONS_MAX {
        if here.gradient.iter().all(|slope| slope.abs() < FLAT) {
            break;
        }
        let mut direction = direction(&here.gradient, &steps);
        if dot(&direction, &here.gradient) <= 0.0 {
            steps.clear();
            direction.clone_from(&here.gradient);
        }
        // The first step has no scale yet.
        let scale = if steps.is_empty() { 1.0 / norm(&direction).max(1.0) } else { 1.0 };
        let Some((next, there)) = climb(&at, &here, &direction, scale, &function) else { break };
        let step: Vec<f64> = next.iter().zip(&at).map(|(a, b)| a - b).collect();
        let change = here.gradient.iter().zip(&there.gradient);
        let change: Vec<f64> = change.map(|(before, after)| before - after).collect();
        let curvature = dot(&step, &change);
        if curvature > 1e-12 {
            if steps.len() == MEMORY {
                steps.pop_front();
            }
            steps.push_back(Curve { step, change, curvature });
        }
        (at, here) = (next, there);
    }
    at
}

/// A step, the decrease of the gradient along it, and the product of both.
struct Curve {
    step: Vec<f64>,
    change: Vec<f64>,
    curvature: f64,
}

/// The two loops of L-BFGS.
fn direction(gradient: &[f64], steps: &VecDeque<Curve>) -> Vec<f64> {
    let mut direction = gradient.to_vec();
    let mut parts = Vec::with_capacity(steps.len());
    for curve in steps.iter().rev() {
        let part = dot(&curve.step, &direction) / curve.curvature;
        add(&mut direction, -part, &curve.change);
        parts.push(part);
    }
    if let Some(last) = steps.back() {
        let scale = last.curvature / dot(&last.change, &last.change);
        direction.iter_mut().for_each(|it| *it *= scale);
    }
    for (curve, part) in steps.iter().zip(parts.into_iter().rev()) {
        let correction = dot(&curve.change, &direction) / curve.curvature;
        add(&mut direction, part - correction, &curve.step);
    }
    direction
}

fn climb(
    at: &[f64],
    here: &Evaluation,
    direction: &[f64],
    scale: f64,
    function: impl Fn(&[f64]) -> Evaluation,
) -> Option<(Vec<f64>, Evaluation)> {
    let slope = dot(direction, &here.gradient);
    let mut length = scale;
    for _ in 0..HALVINGS_MAX {
        let mut next = at.to_vec();
        add(&mut next, length, direction);
        let there = function(&next);
        if there.value >= here.value + ENOUGH * length * slope {
            return Some((next, there));
        }
        length /= 2.0;
    }
    None
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn add(to: &mut [f64], times: f64, what: &[f64]) {
    to.iter_mut().zip(what).for_each(|(to, what)| *to += times * what);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley, inverted: curved and narrow.
    #[test]
    fn maximum_of_a_curved_valley_is_found() {
        let found = maximum(vec![-1.2, 1.0], |at| {
            let (x, y) = (at[0], at[1]);
            Evaluation {
                value: -((1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2)),
                gradient: vec![2.0 * (1.0 - x) + 400.0 * x * (y - x * x), -200.0 * (y - x * x)],
            }
        });
        assert!((found[0] - 1.0).abs() < 1e-4 && (found[1] - 1.0).abs() < 1e-4, "{found:?}");
    }
}
