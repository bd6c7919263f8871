import type { LogicalNode } from './description.ts';

// places.ts says where in a job an operator stands, in the words in which it was written.

const stepsShownMax = 6; // enough to find it; a chain of fifty filters would hide the rest of the message

/** Such as `flights → filter → window.aggregate`: the way from the source, by uid, else name, else label. */
export function placeOf(node: LogicalNode, nodes: readonly LogicalNode[]): string {
  const steps: string[] = [titleOf(node)];
  let at: LogicalNode | undefined = node;
  while ((at = nodes[at.inputs[0]?.from ?? -1]) !== undefined) steps.unshift(titleOf(at));
  if (steps.length > stepsShownMax) steps.splice(1, steps.length - stepsShownMax, '…');
  return steps.join(' → ');
}

/** What an operator is called for a reader. */
export function titleOf(node: LogicalNode): string {
  return node.uid ?? node.name ?? node.label;
}
