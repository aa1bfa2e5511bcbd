/** Commas and opening brackets in an answer: more are no answer. */
const MOST = 200_000;

const SIGNS = [',', '[', '{'].map((sign) => sign.charCodeAt(0));

/**
 * Whether JSON holds more values than are taken. An answer with images is long because of its texts,
 * and parsed in no time; one as long of lists would keep the daemon busy for minutes, and no memory
 * might hold it.
 */
export function hasTooManyValues(json: Buffer): boolean {
  let seen = 0;
  for (const sign of SIGNS) {
    for (let at = json.indexOf(sign); at !== -1; at = json.indexOf(sign, at + 1)) {
      seen += 1;
      if (seen > MOST) return true;
    }
  }
  return false;
}
