"""A vehicle driven by hand in real time, in a page served on loopback: `grouser drive`.

`session` is the simulation with what the driver wants, without clock, threads or network; `loop` gives it the clock,
`server` the page.
"""
