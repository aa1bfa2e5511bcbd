/** The stream of server-sent events to one client. */
export interface ResponseStream {
  /** Whether a frame has been written: later failures can only be events of the stream. */
  readonly started: boolean;
  /** Whether the client does not read what was written. */
  readonly isBlocked: boolean;
  /** Sets a response header, or removes it; ignored once the stream has started. @param value null to remove it */
  setHeader(name: string, value: string | null): void;
  /** Writes frames. @returns false where the client is slow, until `drained` resolves */
  write(frames: string | Buffer): boolean;
  /** Resolves when the client has read what was written, or disconnects. */
  drained(): Promise<void>;
}
