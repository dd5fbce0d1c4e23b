"""spanwise inside other tools: Ray Data and Spark."""
