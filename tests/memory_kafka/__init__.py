"""Kafka in memory: a broker, aiokafka's clients and Faust's transport, for tests of the whole worker."""
