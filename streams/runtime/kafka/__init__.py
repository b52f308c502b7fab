"""The same topology on Apache Kafka: Faust assigns partitions, claims on the log decide who may append."""
