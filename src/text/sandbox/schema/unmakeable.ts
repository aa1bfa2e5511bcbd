/** No value can be made for a schema, or not within reason. */
export class Unmakeable extends Error {
  /** Another choice would end no better. */
  readonly final: boolean;

  constructor(why: string, final = false) {
    super(why);
    this.name = 'Unmakeable';
    this.final = final;
  }
}
