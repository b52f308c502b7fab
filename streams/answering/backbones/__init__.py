"""Model backbones: any compatible endpoint, recorded replies, and the rehearsal simulator."""

# What asks an endpoint shares its pace. limiter finds out how many calls it bears, breaker notices
# that it is away, latency that it slows down, and gate lets calls through in their order; all four
# are plain state without a clock or a loop of their own, the gate excepted, so that they can be
# tested by numbers alone.
#
# Models of our own (llamacpp, openvino) have no use for these: how much they bear is known, and
# nobody else asks them. They share loaded instead.
