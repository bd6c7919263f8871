// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code of the product, placeholders included.
// The rules of the invocation runtime, each taken out by one patch: what the models of one subtask, of the exchange, of changing owners and of poison
// break by name.

import type { Mutation } from '../simulation/mutation.ts';

export const mutations: readonly Mutation[] = [];
