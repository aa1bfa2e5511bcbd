import type * as undici from 'undici';
import { newForm } from './undici.ts';

export type Form = undici.FormData;

export interface FormFile {
  readonly bytes: Uint8Array;
  /** `image/png`. */
  readonly mediaType: string;
  readonly filename: string;
}

/** A file that is read while it is sent. */
export interface FormBlob {
  readonly content: Blob;
  readonly filename: string;
}

export type FormField = readonly [name: string, value: string | FormFile | FormBlob];

/** A multipart form. Undici encodes it anew for each request, so that it can be sent again. */
export function formOf(fields: readonly FormField[]): Form {
  const form = newForm();
  for (const [name, value] of fields) {
    if (typeof value === 'string') form.append(name, value);
    else if ('content' in value) form.append(name, value.content, value.filename);
    else {
      // The types of browsers, which the console checks this file with, allow no shared memory here.
      const bytes = value.bytes as Uint8Array<ArrayBuffer>;
      form.append(name, new Blob([bytes], { type: value.mediaType }), value.filename);
    }
  }
  return form;
}
