use super::*;

#[test]
fn the_error_function_agrees_with_published_values() {
    let published = [
        (0.1, 0.1124629160182849),
        (0.5, 0.5204998778130465),
        (1.0, 0.8427007929497149),
        (2.0, 0.9953222650189527),
        (3.5, 0.9999992569016276),
        (-1.3, -0.9340079449406524),
        (7.0, 1.0),
        (0.0, 0.0),
    ];
    for (x, value) in published {
        assert!((erf(x) - value).abs() < 1e-14, "erf({x}) = {}", erf(x));
    }
}
