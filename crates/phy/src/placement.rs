//! Placement of stations: chains, grids, circles, random rectangles.

use std::f64::consts::PI;

use wifair_config::{choice, table};
use wifair_engine::Stream;
use wifair_units::Metres;

use super::propagation::Position;

table! {
    /// Stations in a line.
    pub struct ChainLayout {
        /// Distance between neighbouring stations.
        pub spacing: Metres = Metres(150.0), "0 m or more" => |d| d.0 >= 0.0;
    }
}

table! {
    /// Stations in rows, filled one after the other.
    pub struct GridLayout {
        /// Stations per row; if absent, such that the grid is a square, or nearly.
        pub columns: Option<u32> = None;
        /// Distance between neighbouring stations in a row or column.
        pub spacing: Metres = Metres(128.0), "0 m or more" => |d| d.0 >= 0.0;
    }
}

table! {
    /// Stations evenly spaced on a circle.
    pub struct CircleLayout {
        /// Distance of each station from the centre.
        pub radius: Metres = Metres(10.0), "0 m or more" => |d| d.0 >= 0.0;
    }
}

table! {
    /// Stations at uniformly distributed places in a rectangle.
    pub struct RandomLayout {
        /// Extent from east to west.
        pub width: Metres = Metres(100.0), "0 m or more" => |d| d.0 >= 0.0;
        /// Extent from north to south.
        pub height: Metres = Metres(100.0), "0 m or more" => |d| d.0 >= 0.0;
    }
}

choice! {
    /// Arrangement of a group of stations.
    pub enum Placement {
        /// In a line towards the east.
        Chain(ChainLayout) = "chain",
        /// In rows, towards the east and north.
        Grid(GridLayout) = "grid",
        /// On a circle, counterclockwise from the east.
        Circle(CircleLayout) = "circle",
        /// At random places in a rectangle.
        Random(RandomLayout) = "random",
    }
}

impl Placement {
    /// Positions of `count` stations. Chain, grid and rectangle begin at `origin`; a circle has it as its centre.
    /// `draws(index)` is the random stream of one station.
    pub fn positions(&self, count: u32, origin: Position, draws: impl Fn(u32) -> Stream) -> Vec<Position> {
        let columns = |params: &GridLayout| match params.columns {
            Some(columns) => columns.max(1),
            None => (1..).find(|side: &u32| u64::from(*side).pow(2) >= u64::from(count)).expect("a square is found"),
        };
        let place = |index: u32| match self {
            Self::Chain(params) => (params.spacing.0 * f64::from(index), 0.0),
            Self::Grid(params) => {
                let columns = columns(params);
                let step = params.spacing.0;
                (step * f64::from(index % columns), step * f64::from(index / columns))
            }
            Self::Circle(params) => {
                let angle = 2.0 * PI * f64::from(index) / f64::from(count);
                (params.radius.0 * libm::cos(angle), params.radius.0 * libm::sin(angle))
            }
            Self::Random(params) => {
                let mut draws = draws(index);
                let x = params.width.0 * draws.uniform();
                (x, params.height.0 * draws.uniform())
            }
        };
        (0..count).map(place).map(|(x, y)| Position::new(origin.x + x, origin.y + y)).collect()
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;
    use wifair_engine::stream;

    use super::*;

    fn positions(placement: Placement, count: u32) -> Vec<Position> {
        placement.positions(count, Position::default(), |index| stream(1, "place", &index.to_string()))
    }

    #[test]
    fn a_chain_goes_east() {
        let at = positions(Placement::Chain(ChainLayout::default()), 4);
        assert_eq!(at[3], Position::new(450.0, 0.0));
    }

    /// A grid of 16 at 128 m: 181.0 m diagonally to the next station, 543.1 m from corner to corner.
    #[test]
    fn a_grid_is_a_square_unless_told_otherwise() {
        let at = positions(Placement::Grid(GridLayout::default()), 16);
        assert_relative_eq!(at[0].distance(at[5]).0, 181.0, epsilon = 0.05);
        assert_relative_eq!(at[0].distance(at[15]).0, 543.1, epsilon = 0.05);
        let two = GridLayout { columns: Some(2), ..GridLayout::default() };
        assert_eq!(positions(Placement::Grid(two), 3)[2], Position::new(0.0, 128.0));
        assert_eq!(positions(Placement::Grid(GridLayout::default()), 5)[3], Position::new(0.0, 128.0));
    }

    #[test]
    fn a_circle_keeps_its_distance() {
        let at = positions(Placement::Circle(CircleLayout::default()), 6);
        for (station, next) in at.iter().zip(at.iter().cycle().skip(1)) {
            assert_relative_eq!(station.distance(Position::default()).0, 10.0, epsilon = 1e-9);
            // A hexagon's side is its radius.
            assert_relative_eq!(station.distance(*next).0, 10.0, epsilon = 1e-9);
        }
    }

    #[test]
    fn a_further_station_leaves_the_places_of_others() {
        let placement = Placement::Random(RandomLayout::default());
        let (few, many) = (positions(placement.clone(), 5), positions(placement, 50));
        assert_eq!(few[..], many[..5]);
        assert!(many.iter().all(|at| (0.0..=100.0).contains(&at.x) && (0.0..=100.0).contains(&at.y)));
    }
}
