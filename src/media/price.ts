import type { Model } from '../config/schema.ts';
import type { TaskRequest } from './task-request.ts';

/** The price of a task by a model of its type, in micro-credits. */
export function priceOf(request: TaskRequest, model: Model): number {
  if (request.type === 'image' && model.type === 'image') return model.price.perImage * request.n;
  if (request.type === 'video' && model.type === 'video') {
    return model.price.perVideo + model.price.perSecond * request.duration;
  }
  if (request.type === 'audio' && model.type === 'audio') return model.price.perRequest;
  throw new TypeError(`a model of type ${model.type} has no price for ${request.type}`);
}

/**
 * The charge for a task by the number of its outputs. Derived from the reservation, since the
 * configured price may have changed meanwhile.
 *
 * @param reserved the result of `priceOf` when the task was created
 */
export function chargeOf(request: TaskRequest, reserved: number, outputs: number): number {
  return request.type === 'image' ? (reserved / request.n) * outputs : reserved;
}
