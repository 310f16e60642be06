"""Networks written by hand, as fast as a library and loops of our own let them be: what plans are held against. They are
engines of benchmarks.models, `ceiling:channels_last` and `ceiling:blocked`, which differ in how activations lie."""
