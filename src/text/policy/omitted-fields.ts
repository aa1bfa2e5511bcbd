/** Paths of what a request has and an upstream is not sent. */
export interface OmittedFields {
  /** What changes nothing of the answer, or what this version does not know. */
  readonly ignored: readonly string[];
  /** What has a meaning, and the operator has left out. */
  readonly dropped: readonly string[];
}
