import type { Model } from '../config/schema.ts';
import type { Work } from './work.ts';

/** What one thing that a work gives costs, and all of it, in micro-credits. */
export interface Price {
  readonly each: number;
  readonly whole: number;
}

/** The price of a work by a model of its type. */
export function priceOf(work: Work, model: Model): Price {
  if (work.type === 'image' && model.type === 'image') {
    const each = model.price.perImage;
    return { each, whole: each * work.n };
  }
  if (work.type === 'video' && model.type === 'video') {
    const each = model.price.perVideo + model.price.perSecond * work.duration;
    return { each, whole: each };
  }
  if (work.type === 'audio' && model.type === 'audio') {
    const each = model.price.perRequest;
    return { each, whole: each };
  }
  throw new TypeError(`a model of type ${model.type} does no work of type ${work.type}`);
}
