//! The little linear algebra there is.

/// Solves `matrix · x = right` for a symmetric positive definite matrix by Cholesky's decomposition; `None` where it is not one, or
/// where the sizes differ.
pub fn solve(matrix: &[Vec<f64>], right: &[f64]) -> Option<Vec<f64>> {
    let size = right.len();
    if matrix.len() != size || matrix.iter().any(|row| row.len() != size) {
        return None;
    }
    let mut lower = vec![vec![0.0; size]; size];
    for i in 0..size {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let rest = matrix[i][j] - known;
            if i != j {
                lower[i][j] = rest / lower[j][j];
            } else if rest > 1e-12 && rest.is_finite() {
                lower[i][i] = rest.sqrt();
            } else {
                return None;
            }
        }
    }
    let mut x = right.to_vec();
    for i in 0..size {
        let known: f64 = (0..i).map(|k| lower[i][k] * x[k]).sum();
        x[i] = (x[i] - known) / lower[i][i];
    }
    for i in (0..size).rev() {
        let known: f64 = (i + 1..size).map(|k| lower[k][i] * x[k]).sum();
        x[i] = (x[i] - known) / lower[i][i];
    }
    x.iter().all(|value| value.is_finite()).then_some(x)
}
