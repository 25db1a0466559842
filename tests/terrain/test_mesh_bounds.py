"""A mesh that lies off the diagonal: its bounds belong to their own axis."""

import numpy as np

import grouser as gr


def test_a_mesh_off_the_diagonal_has_height_inside_and_none_outside():
    # x from 0 to 2, y from 7 to 8, rising by 0.1 along x and −0.2 along y.
    x, y = np.meshgrid([0.0, 1.0, 2.0], [7.0, 7.5, 8.0], indexing="ij")
    z = 0.1 * x - 0.2 * y
    at = np.arange(9).reshape(3, 3)
    a, b, c, d = at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]
    faces = np.concatenate([np.stack(t, -1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
    ground = gr.terrain.mesh(np.column_stack([x.ravel(), y.ravel(), z.ravel()]), faces)
    rng = np.random.default_rng(2)
    inside = np.column_stack([rng.uniform(0.0, 2.0, 200), rng.uniform(7.0, 8.0, 200)])
    found = ground.sample(inside[:, 0], inside[:, 1])
    assert found.inside.all()
    np.testing.assert_allclose(found.height, 0.1 * inside[:, 0] - 0.2 * inside[:, 1], rtol=0.0, atol=1e-12)
    for px, py in ((-0.1, 7.5), (2.1, 7.5), (1.0, 6.9), (1.0, 8.1), (7.5, 1.0), (0.5, 0.5), (7.5, 7.5)):
        assert not ground.sample(px, py).inside
