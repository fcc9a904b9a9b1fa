//! What HTTP and gRPC responses say about the server that sent them.
