/** Where a stream's frames go: one client, slow or fast. */
export interface ResponseStream {
  /** Whether a frame was written: from then on a failure can only be told inside the stream. */
  readonly begun: boolean;
  /** A header of the answer, while it has not begun. */
  announce(name: string, value: string): void;
  /** False where the client is slow: more is welcome once `drained` resolves. */
  write(frames: string | Buffer): boolean;
  /** Resolves at once where nothing waits, and also when the client is gone. */
  drained(): Promise<void>;
}
