import { routeCandidates } from '../../routing/route-candidates.ts';
import { orderRoutes, seededRandom } from '../../routing/route-order.ts';
import { type ClaimQuery, TASK_TYPES, type Task } from '../../store/task.ts';
import { sleep } from '../../upstream/abort-signal.ts';
import { ignoredOptions } from '../providers/providers.ts';
import type { QueueServices } from '../task/media-services.ts';
import type { TaskRequest } from '../task/task-request.ts';
import { isResumableAt } from './call-checkpoint.ts';
import type { MediaRouteCandidate } from './media-task-executor.ts';
import { TaskInterrupted } from './open-task.ts';
import { ProviderQueues, type Slot } from './provider-queues.ts';

/** Maximum tasks of one claim. */
const MAX_CLAIMED = 100;

/** Finds routes for tasks, and slots at the providers of these routes. */
export class RouteSlots {
  readonly #services: QueueServices;
  readonly queues: ProviderQueues;
  /** Models of tasks that this node's configuration lacks: other nodes, or the next reload, may have them. */
  readonly #missing = new Set<string>();

  constructor(services: QueueServices) {
    this.#services = services;
    this.queues = new ProviderQueues(services.config, services.store.nodes);
  }

  /** Applies a reloaded configuration to tasks that have not started. */
  reconfigured(): void {
    this.#missing.clear();
    this.queues.reconfigured();
  }

  /** What could start now. */
  room(): Required<ClaimQuery> {
    const { config, routing } = this.#services;
    const exceptModels = [...this.#missing];
    let limit = MAX_CLAIMED;
    for (const [name, model] of Object.entries(config().models)) {
      if (!(TASK_TYPES as readonly string[]).includes(model.type)) continue;
      const free = routeCandidates(model)
        .filter((candidate) => routing.remainingCooldown(candidate, null) === 0)
        .map(({ route }) => this.queues.free(route.provider));
      const most = Math.max(0, ...free);
      if (most === 0) exceptModels.push(name);
      else limit = Math.min(limit, most);
    }
    return { limit, exceptModels };
  }

  /**
   * Waits until a route's circuit is closed and its provider has a free slot. Meanwhile circuits may
   * open and the configuration may be reloaded, so both are checked again after each wait.
   *
   * @returns the routes that can do the task; the slot is at the provider of one of them
   * @throws TaskInterrupted where this node's configuration lacks the model, Failure where no route can do the task
   */
  async wait(task: Task, slot: Slot, signal: AbortSignal): Promise<readonly MediaRouteCandidate[]> {
    const { routing, store } = this.#services;
    // Another node may have a free slot.
    const onWait = () => store.publish({ kind: 'pending' });
    for (;;) {
      const candidates = this.#candidatesOf(task);
      const [first] = candidates;
      // Another route would have to be paid for work that this one can resume.
      const usable = isResumableAt(task, first!.name) ? [first!] : candidates;
      const cooldowns = usable.map((candidate) =>
        routing.remainingCooldown(candidate, task.accountId),
      );
      const ready = usable[cooldowns.indexOf(0)];
      if (ready === undefined) {
        slot.release();
        onWait();
        await sleep(Math.min(...cooldowns), signal);
      } else if (slot.isAt(ready.route.provider)) return candidates;
      else {
        if (this.queues.free(ready.route.provider) === 0) onWait();
        await slot.moveTo(ready.route.provider);
      }
    }
  }

  /** The routes of a task's model; a route that can resume the task comes first. */
  #candidatesOf(task: Task): readonly MediaRouteCandidate[] {
    const { config } = this.#services;
    const { models, providers } = config();
    const model = Object.hasOwn(models, task.model) ? models[task.model] : undefined;
    if (model?.type !== task.type) {
      // The task was accepted: it waits in the store for a node that has the model, until its deadline.
      this.#missing.add(task.model);
      throw new TaskInterrupted();
    }
    // The order is always the same, even after a restart.
    const all = orderRoutes(model, seededRandom(task.id));
    const request = task.request as TaskRequest;
    const able = all.filter(({ route }) => ignoredOptions(request, route, providers).length === 0);
    const candidates = able.length > 0 ? able : all;
    const resumable = candidates.findIndex(({ name }) => isResumableAt(task, name));
    return resumable > 0
      ? [candidates[resumable]!, ...candidates.toSpliced(resumable, 1)]
      : candidates;
  }
}
